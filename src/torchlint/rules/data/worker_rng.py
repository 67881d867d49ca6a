"""606: a random generator that a dataset holds is copied to every worker, with its state."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Event, Func, Instance, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, dataset_of, methods_within, option, workers

CODE = 606
_COPIED = "is copied to every worker process with the state it has here"
_MAKERS = frozenset({"default_rng", "RandomState", "Random", "Generator"})
_RESEEDED = frozenset({"seed", "seed_", "reseed", "set_random_seed", "manual_seed", "get_worker_info", "worker_id", "set_state", "setstate", "bit_generator"})
_AUGMENTER = (
    "`{name}` {how}, and with it imgaug's own generator: all workers draw the same numbers, in every epoch",
    "give the loader a `worker_init_fn` that seeds it: `get_worker_info().dataset.augmenter.seed_(torch.initial_seed() % 2**32)`, by its name",
)


def check(view: View) -> Iterator[Report]:
    """`self.rng = np.random.default_rng(seed)` in a dataset that a loader with workers reads."""
    for event, loader in created(view):
        if option(loader, "num_workers") is None or workers(loader) == 0:
            continue
        start = option(loader, "worker_init_fn")
        if start is not None:
            yield from _seeded_alike(view, event, start)
            continue
        dataset = dataset_of(loader)
        if dataset is None:
            continue
        holders = {id(dataset): ("__getitem__", "__iter__"), **_parts_of(view, dataset)}
        for change in view.of("setattr"):
            starts = holders.get(id(change.subject))
            made = starts is not None and _augmenter(change)
            if starts is not None and (made or _generator(change)) and _drawn_from(change.subject, change.name, starts):
                related = [
                    (event.site, "this loader copies the dataset, and the generator in it, to each of its workers")
                ]
                roles = {"name": f"self.{change.name}", "how": _COPIED, "dataset": dataset.cls.name}
                yield Report(CODE, change.site, roles, related, words=_AUGMENTER if made else None)


def _seeded_alike(view: View, event: Event, start: Value) -> Iterator[Report]:
    """`def init(worker_id): np.random.seed(0)`: whatever its number, each worker begins alike."""
    alts = real(start)
    func = alts[0] if len(alts) == 1 and isinstance(alts[0], Func) else None
    definition, parsed = view.run.definition(func) if func is not None and func.node is None else (getattr(func, "node", None), getattr(func, "parsed", None))
    if not isinstance(definition, cst.FunctionDef) or len(definition.params.params) != 1:
        return
    number = definition.params.params[0].name.value
    nodes = list(walk(definition.body))
    if any(isinstance(node, cst.Name) and node.value in (number, "get_worker_info", "initial_seed") for node in nodes) or any(
        isinstance(node, cst.Attribute) and node.attr.value in ("get_worker_info", "initial_seed") for node in nodes
    ):
        return
    for node in nodes:
        seeds = isinstance(node, cst.Call) and parsed.text(node.func).rpartition(".")[2] in ("seed", "manual_seed", "seed_all", "seed_everything")
        if seeds and len(node.args) == 1 and isinstance(node.args[0].value, cst.Integer):
            site = Site(parsed, node)
            related = [(event.site, "each worker of this loader begins with it")]
            yield Report(CODE, site, {"name": view.call_text(site), "how": "is run in every worker process, whatever its number"}, related)
            return


def _generator(change: Event) -> bool:
    alts = real(change.value)
    if len(alts) != 1 or not isinstance(alts[0], Opaque) or alts[0].source not in ("call", "op"):
        return False
    node = getattr(change.site.node, "value", None)
    text = change.site.parsed.text(node.func) if hasattr(node, "func") else ""
    if text.rsplit(".", 1)[-1] not in _MAKERS:
        return False
    return "foreign" in alts[0].tags and alts[0].name in _MAKERS or text == "torch.Generator"


def _augmenter(change: Event) -> bool:
    """Whether an attribute is an object of imgaug's: each has a generator of its own from the time it is made."""
    alts = real(change.value)
    return len(alts) == 1 and isinstance(alts[0], Opaque) and alts[0].source == "call" and alts[0].name.startswith("imgaug.")


def _parts_of(view: View, dataset: Instance) -> dict[int, tuple[str, ...]]:
    """By id: objects of the user's that the dataset keeps as attributes and calls for its items, such as an augmentation; and
    by which methods."""
    found: dict[int, tuple[str, ...]] = {}
    for change in view.of("setattr"):
        alts = real(change.value) if change.subject is dataset else ()
        part = alts[0] if len(alts) == 1 and isinstance(alts[0], Instance) and isinstance(alts[0].cls, Class) else None
        if part is None or part is dataset:
            continue
        units = [unit for start in ("__getitem__", "__iter__") for unit in methods_within(dataset.cls, start)]
        # Who is told the worker or the index may well seed it.
        if any(change.name in unit.words for unit in units) and not any(unit.words & _RESEEDED for unit in units):
            found[id(part)] = ("__call__",)
    return found


def _drawn_from(dataset: Instance, name: str, starts: tuple[str, ...]) -> bool:
    """Whether the items are drawn with the generator, and nothing gives each worker one of its own."""
    for start in starts:
        units = methods_within(dataset.cls, start)
        if any(name in unit.words for unit in units):
            everything = methods_within(dataset.cls, start)
            again = any(name in unit.sets and unit.name != "__init__" for unit in dataset.cls.cf.methods.values())
            return not again and not any(unit.words & _RESEEDED for unit in everything)
    return False
