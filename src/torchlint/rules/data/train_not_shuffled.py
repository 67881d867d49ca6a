"""603: training goes through the data in the same order in every epoch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.values import Event, Instance, Ref, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import dataset_of, option, style

CODE = 603
# Data whose order means something, or that draws its samples itself.
_ORDERED = re.compile(
    r"series|sequen|window|video|frame|stream|bptt|stock|chunk|replay|memory|rollout|buffer|random|shuffle|sampl",
    re.IGNORECASE,
)


def check(view: View) -> Iterator[Report]:
    """A loader without `shuffle` or sampler, gone through in a loop that steps an optimizer."""
    told = set()
    for event in view.of("loader.iterate"):
        loader = event.subject
        if not isinstance(loader, Instance) or id(loader) in told or not event.loops or not _left_in_order(loader):
            continue
        steps = _steps_over(view, loader)
        if loader.site is None or not steps or loader.site in [loop.site for loop in event.loops]:
            continue
        told.add(id(loader))
        yield Report(
            CODE,
            loader.site,
            {"loader": loader.name or "the loader", "call": view.call_text(loader.site)},
            [(event.site, "training goes through it here, once an epoch")]
            if event.site.location().row != loader.site.location().row or event.site.path != loader.site.path else [],
        )


def _left_in_order(loader: Instance) -> bool:
    if loader.kind != "loader" or not isinstance(loader.cls, Ref) or loader.kwargs.keys() & {"*", "**"}:
        return False
    if (
        any(option(loader, name) is not None for name in ("shuffle", "sampler", "batch_sampler"))
        or "shuffle" in loader.kwargs
    ):
        return False  # shuffle=False says that the order is meant
    if loader.site is None or _ORDERED.search(loader.site.text()) or "len(" in loader.site.text():
        return False
    dataset = dataset_of(loader)
    if dataset is not None:
        words = {
            word
            for owner in dataset.cls.mro()
            for unit in getattr(getattr(owner, "cf", None), "methods", {}).values()
            for word in unit.words
        }
        return style(dataset) == "map" and _by_number(dataset) and not any(_ORDERED.search(word) for word in (*words, dataset.cls.name))
    alts = real(whole_dataset(option(loader, "dataset")))
    return (
        len(alts) == 1
        and isinstance(alts[0], Instance)
        and bool(re.match(r"^torchvision\.datasets\.|^torch\.utils\.data\.TensorDataset$", alts[0].type))
        and not any(_random(alt) for alt in alts)
    )


def _by_number(dataset: Instance) -> bool:
    """Whether an item depends on its number: what draws its items at random has no order."""
    cls, unit = dataset.cls.method("__getitem__") or (None, None)
    if cls is None or len(unit.params) < 2:
        return True
    text = "".join(cls.facts.lines[unit.start - 1 : unit.end])
    return len(re.findall(rf"\b{re.escape(unit.params[1])}\b", text)) > 1


def _random(dataset: Instance) -> bool:
    return dataset.type.endswith(("FakeData", "UCF101", "HMDB51", "Kinetics"))


def _steps_over(view: View, loader: Instance) -> list[Event]:
    """The optimizer steps inside a loop over the loader that is inside another loop."""
    found = []
    for step in view.of("optimizer.step"):
        for depth, loop in enumerate(step.loops):
            over = view.run.iterated(loop.over) if loop.over is not None else None
            if over is loader and any(
                not outer.once and not any(view.made_anew(alt, outer) for alt in real(step.subject)) for outer in step.loops[:depth]
            ):
                found.append(step)
    return found
