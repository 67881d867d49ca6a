"""819: a sampler is built and given to no loader."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Instance, Ref, Value, boolean, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import unit_text

CODE = 819


def check(view: View) -> Iterator[Report]:
    """A sampler, or what makes one, that nothing reads."""
    yield from _made(view)
    yield from _chosen(view)


def _made(view: View) -> Iterator[Report]:
    """`sampler = DistributedSampler(train_set)`, and nothing ever reads `sampler`."""
    loaders = view.of("loader.create")
    for event in view.of("sampler.create") if loaders else ():
        sampler = event.subject
        if not isinstance(sampler.cls, Ref) or not sampler.name.isidentifier() or id(sampler) in view.run.escaped:
            continue
        loader = _loader_of(loaders, sampler)
        if loader is None or event.site.parsed.unit.name == "<class>":
            continue
        if not _read(unit_text(event.site), sampler.name) or _beside(event, loader) and not _used(view, sampler):
            roles = {"sampler": sampler.name, "kind": sampler.type.rsplit(".", 1)[-1]}
            yield Report(CODE, event.site, roles, [(loader.site, "this loader draws its own order from the same data")])


_CLASSES = ("torch.utils.data.", "torch.utils.data.distributed.", "torch.utils.data.sampler.")
_CHOSEN = (
    "`{sampler}`, which stands for `{kind}`, is never called: the loader goes through the data as if it were not there",
    "pass `sampler={sampler}(...)` to the loader, without `shuffle`",
)


def _chosen(view: View) -> Iterator[Report]:
    """`order = RandomSampler if alone else DistributedSampler`, and nothing ever reads `order`."""
    loaders = view.of("loader.create")
    for event in view.of("assign") if loaders else ():
        kinds = [alt.name for alt in real(event.subject) if isinstance(alt, Ref) and _is_sampler(alt.name)]
        target = event.target
        if not kinds or len(kinds) < len(real(event.subject)) or not isinstance(target, cst.Name) or event.site.parsed.unit.name == "<class>":
            continue
        loader = next((loader for loader in loaders if loader.calls == event.calls and _draws_otherwise(loader, event, kinds)), None)
        if loader is not None and not _read(unit_text(event.site), target.value):
            roles = {"sampler": target.value, "kind": kinds[-1].rsplit(".", 1)[-1]}
            yield Report(CODE, event.site, roles, [(loader.site, "this loader draws an order of its own")], words=_CHOSEN)


def _is_sampler(name: str) -> bool:
    return name.endswith("Sampler") and name.rpartition(".")[0] + "." in _CLASSES and not name.endswith(("BatchSampler", ".Sampler"))


def _draws_otherwise(loader: Event, chosen: Event, kinds: list[str]) -> bool:
    """Whether a loader in the same function, made later, has no sampler, and no order that is the same as the chosen one."""
    made = loader.subject
    given = {"sampler", "batch_sampler", "*", "**"} & made.kwargs.keys() or len(made.args) >= 4
    same = boolean(made.kwargs.get("shuffle")) is True and all(kind.endswith(".RandomSampler") for kind in kinds)
    return loader.site.parsed.unit is chosen.site.parsed.unit and loader.serial > chosen.serial and not given and not same


def _read(text: str, name: str) -> bool:
    """Whether a function uses a name for anything but binding it and telling it the epoch."""
    plain = re.sub(r"#[^\n]*", "", text)
    uses = re.finditer(rf"(?<![\w.]){name}\b", plain)
    return any(not re.match(r"\s*(?:=(?!=)|\.set_epoch\b)", plain[use.end() :]) for use in uses)


def _beside(event, loader) -> bool:
    """Whether the loader is built in the very branch that the sampler is, and shuffles instead."""
    one, other = ([guard.condition for guard in item.guards] for item in (event, loader))
    shuffle = loader.subject.kwargs.get("shuffle")
    return one == other and bool(one) and event.site.parsed is loader.site.parsed and boolean(shuffle) is True


def _used(view: View, sampler: Instance) -> bool:
    """Whether anything that happens is about the sampler, except that it is told the epoch."""
    for event in view.run.graph.events:
        if event.kind in ("sampler.create", "sampler.set_epoch") and event.subject is sampler:
            continue
        values = [event.subject, *(value for value in event.data.values() if isinstance(value, Value)), *event.get("args", ())]
        values.extend(event.get("kwargs", {}).values())
        if any(_holds(view, value, sampler) for value in values):
            return True
    return False


def _holds(view: View, value: Value | None, wanted: Instance, depth: int = 0) -> bool:
    for alt in real(value):
        if alt is wanted:
            return True
        inner = [*view.run.known_items(alt), *([*alt.args, *alt.kwargs.values()] if isinstance(alt, Instance) else ())]
        if depth < 3 and any(_holds(view, item, wanted, depth + 1) for item in inner):
            return True
    return False


def _loader_of(loaders, sampler: Instance):
    """A loader over the sampler's data that was given no sampler."""
    data = sampler.arg(0, "dataset") or sampler.arg(0, "data_source")
    for event in loaders:
        made = event.subject
        given = {"sampler", "batch_sampler", "*", "**"} & made.kwargs.keys()
        if event.dataset is data and data is not None and not given and len(made.args) < 4:
            return event
    return None
