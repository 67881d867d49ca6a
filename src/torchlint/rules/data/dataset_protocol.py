"""617: a dataset that lacks what a DataLoader asks of it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.catalogue.effects import MISSPELT
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Func
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import MAP_STYLE, created, dataset_of, option, style

CODE = 617


def check(view: View) -> Iterator[Report]:
    """No `__getitem__`, no `__len__`, or one under a name that Python does not know."""
    root = view.run.root
    if root is not None and root.home is not None:
        yield from _misspelt(view, root.home)
    for event, loader in created(view):
        dataset = dataset_of(loader)
        if dataset is None or style(dataset) != "map" or not dataset.complete or _has(dataset.cls, "__getattr__"):
            continue
        if _missing(dataset.cls, "__getitem__", "__getitems__"):
            yield _report(view, event, dataset.cls, "__getitem__", "an item is asked of it by its number")
        elif (
            _missing(dataset.cls, "__len__")
            and option(loader, "sampler") is None
            and option(loader, "batch_sampler") is None
        ):
            yield _report(view, event, dataset.cls, "__len__", "the loader's sampler asks for it")


def _report(view: View, event, cls: Class, name: str, why: str) -> Report:
    return Report(CODE, event.site, {"dataset": cls.name, "method": name, "why": why})


def _missing(cls: Class, *names: str) -> bool:
    return not any(_has(cls, name) for name in names)


def _has(cls: Class, name: str) -> bool:
    """Whether a class has a method of that name, written or assigned in its body."""
    return any(
        isinstance(item, Class) and (name in item.cf.methods or any(name in unit.binds for unit in item.cf.body))
        for item in cls.mro()
    )


def _misspelt(view: View, cls: Class) -> Iterator[Report]:
    if MAP_STYLE not in cls.externals() and "torch.utils.data.IterableDataset" not in cls.externals():
        return
    for name, unit in cls.cf.methods.items():
        meant = MISSPELT.get(name)
        if meant is None or _has(cls, meant):
            continue
        definition, parsed = view.run.definition(Func(name, cls.facts, unit, cls))
        if definition is not None:
            why = f"`{name}` is a name that Python does not know"
            yield Report(CODE, Site(parsed, definition.name), {"dataset": cls.name, "method": meant, "why": why})
