"""The class numbers that the data sets of torchvision come with, as they are in the batches of a loader."""

from __future__ import annotations

from torchlint.catalogue.vision_labels import HIGHEST, HIGHEST_OF_EMNIST
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, Instance, Method, Opaque, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import option
from torchlint.rules.shared.methods import method_of

_KEEP = frozenset({"to", "cuda", "cpu", "long", "type", "int", "clone", "detach", "contiguous", "squeeze", "view", "reshape", "flatten"})
_CHOOSE = ("sampler", "batch_sampler", "collate_fn")
_CHANGES = ("setattr", "item.set", "inplace", "augment", "append")
_ASKED = frozenset({"len", "print", "iter", "next", "str", "repr", "type"})
_BEFORE_TRANSFORMS = 3  # arguments: behind them one may change the labels
_MOST = 12


def highest_label(view: View, target: Value) -> tuple[int, Site] | None:
    """The highest class number in what is given as a target, and where the data set is made; None where it is not one of torchvision's,
    whole, with the numbers that it comes with."""
    given = _as_it_came(view, target)
    if given is None:
        return None
    steps, loader = given
    data = _whole(loader)
    highest = _highest(data) if data is not None and data.site is not None else None
    if highest is None or any(_is_touched(event, data, steps) for event in view.of(*_CHANGES, "unknown", "called")):
        return None
    return highest, data.site


def _as_it_came(view: View, target: Value) -> tuple[list[Opaque], Instance] | None:
    """What a target is on its way from the second item of a loader's batch, and the loader."""
    steps: list[Opaque] = []
    value: Value | None = target
    for _ in range(_MOST):
        alts = real(value)
        if len(alts) != 1 or type(alts[0]) is not Opaque:
            return None
        step = alts[0]
        steps.append(step)
        if step.source == "item":
            break
        if method_of(step) not in _KEEP:
            return None
        value = step.origin
    else:
        return None
    batch = steps[-1].origin
    if type(batch) is not Opaque or batch.source != "item" or "batch" not in batch.tags:
        return None
    loader = batch.origin
    second = steps[-1].name == "1" or view.run.base_store.get(steps[-1], " column") == 1
    is_loader = isinstance(loader, Instance) and loader.type == "torch.utils.data.DataLoader"
    return ([*steps, batch], loader) if second and is_loader else None


def _whole(loader: Instance) -> Instance | None:
    """The data set of a loader that gives its samples as they are: all of them, or parts that are drawn by chance."""
    if loader.kwargs.keys() & {"*", "**"} or any(option(loader, name) is not None for name in _CHOOSE):
        return None
    value = option(loader, "dataset")
    for _ in range(_MOST):
        alts = real(value)
        if len(alts) != 1 or not isinstance(alts[0], Instance):
            return None
        data = alts[0]
        if data.type != "torch.utils.data.Subset":
            return data
        if data.site is None or "random_split" not in data.site.text():
            return None
        value = data.arg(0, "dataset")
    return None


def _highest(data: Instance) -> int | None:
    package, _, name = data.type.rpartition(".")
    if package != "torchvision.datasets" or data.kwargs.keys() & {"target_transform", "transforms", "*", "**"}:
        return None
    if name == "EMNIST":
        split = data.arg(1, "split")
        return HIGHEST_OF_EMNIST.get(split.value) if isinstance(split, Const) else None
    return HIGHEST.get(name) if len(data.args) <= _BEFORE_TRANSFORMS else None


def _is_touched(event: Event, data: Instance, steps: list[Opaque]) -> bool:
    """Whether something is done to the labels, or to the data set, that may give it others."""
    if event.kind in ("unknown", "called"):
        given = any(alt is data for value in event.get("args", ()) for alt in real(value))
        return given and (event.get("name") or "").rpartition(".")[2] not in _ASKED
    return any(alt in steps or data in _owners(alt) for alt in real(event.subject))


def _owners(value: Value) -> list[Value]:
    """A value, and what it was read from: of `data.targets[0]`, `data.targets` and `data`."""
    found = [value]
    while len(found) < _MOST:
        inner = found[-1]
        if type(inner) is Opaque and inner.source in ("attr", "item") and inner.origin is not None:
            found.append(inner.origin)
        elif isinstance(inner, Method):  # what an object of a library has may be a method
            found.append(inner.owner)
        else:
            break
    return found
