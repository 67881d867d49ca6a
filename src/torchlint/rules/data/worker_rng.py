"""606: a random generator that a dataset holds is copied to every worker, with its state."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Func, Instance, Loop, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, dataset_of, datasets_of, goes_over, methods_within, option, trained_on, true, workers
from torchlint.rules.shared.own_draws import DRAWS, item_draw

CODE = 606
_COPIED = "is copied to every worker process with the state it has here"
_MAKERS = frozenset({"default_rng", "RandomState", "Random", "Generator"})
_RESEEDED = frozenset({"seed", "seed_", "reseed", "set_random_seed", "manual_seed", "get_worker_info", "worker_id", "set_state", "setstate", "bit_generator"})
_AUGMENTER = (
    "`{name}` {how}, and with it imgaug's own generator: all workers draw the same numbers, in every epoch",
    "give the loader a `worker_init_fn` that seeds it: `get_worker_info().dataset.augmenter.seed_(torch.initial_seed() % 2**32)`, by its name",
)
_AGAIN = "seeds a worker the same in every epoch"
_EPOCHS = (
    "`{name}` {how}: workers are started anew for each pass, and the samples draw the same numbers",
    "leave it out: PyTorch seeds `torch`, `random` and NumPy (since 1.9) in each worker, anew for each epoch; or seed with `torch.initial_seed() % 2**32`",
)
_BEFORE_NUMPY = (
    "`{name}` {how}, and PyTorch before 1.9, which the project asks for, seeds that in no worker: all workers draw the same numbers",
    "give the loader a `worker_init_fn` that calls `np.random.seed(torch.initial_seed() % 2**32)`, or ask for torch 1.9",
)
_STARTED_AFRESH = frozenset({"set_start_method", "multiprocessing_context", "spawn", "forkserver"})
# Of a generator that PyTorch has seeded with an array, which it has in each worker, the first word of the state is always the same.
_OWN_STATE = "np.random.get_state()[1][0]"
_FIXED = re.compile(r"(?!(?i:.*(?:epoch|step|iter|time)))(?:[A-Z][A-Z_0-9]*|(?:\w+\.)*(?i:\w*(?:seed|rank|workers))\w*)")


def check(view: View) -> Iterator[Report]:
    """`self.rng = np.random.default_rng(seed)` in a dataset that a loader with workers reads."""
    for event, loader in created(view):
        if option(loader, "num_workers") is None or workers(loader) == 0:
            continue
        start = option(loader, "worker_init_fn")
        if start is not None:
            yield from _seeded_alike(view, event, start)
            yield from _seeded_again(view, event, loader, start)
            continue
        yield from _unseeded_numpy(view, event, loader)
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


def _unseeded_numpy(view: View, event: Event, loader: Instance) -> Iterator[Report]:
    """`np.random.rand()` in the items of a training set, on a torch that has workers begin with a copy of NumPy's generator."""
    if view.admits((1, 9)) or workers(loader) == 1 or event.site.parsed.facts.words & _STARTED_AFRESH:
        return
    datasets = datasets_of(loader)
    if not datasets or not true(option(loader, "shuffle")) and not trained_on(view, loader):
        return
    drawn = [item_draw(view, dataset, "np.random.seed") for dataset in datasets]
    if all(drawn):
        related = [(event.site, "each worker of this loader begins with a copy of NumPy's generator")]
        yield Report(CODE, drawn[0], {"name": view.call_text(drawn[0]), "how": "draws from NumPy's global generator"}, related, words=_BEFORE_NUMPY)


def _seeded_alike(view: View, event: Event, start: Value) -> Iterator[Report]:
    """`def init(worker_id): np.random.seed(0)`: whatever its number, each worker begins alike."""
    definition, parsed = _defined(view, start)
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


def _defined(view: View, start: Value) -> tuple[cst.CSTNode | None, Parsed | None]:
    """The function that each worker runs, where there is one in view, and its tree."""
    alts = real(start)
    func = alts[0] if len(alts) == 1 and isinstance(alts[0], Func) else None
    return view.run.definition(func) if func is not None and func.node is None else (getattr(func, "node", None), getattr(func, "parsed", None))


def _seeded_again(view: View, event: Event, loader: Instance, start: Value) -> Iterator[Report]:
    """`def init(worker_id): np.random.seed(42 + worker_id)`: workers that are started again in each epoch begin as in the first."""
    lasting = option(loader, "persistent_workers")
    datasets = datasets_of(loader)
    if lasting is not None and not (isinstance(lasting, Const) and lasting.value is False) or not datasets:
        return
    definition, parsed = _defined(view, start)
    if not isinstance(definition, (cst.FunctionDef, cst.Lambda)) or len(definition.params.params) != 1:
        return
    number = definition.params.params[0].name.value
    if not _tells_workers_apart(definition, number):
        return  # that is told of above
    calls = [node for node in walk(definition.body) if isinstance(node, cst.Call)]
    for seeder in DRAWS:
        seeds = [call for call in calls if parsed.text(call.func) == seeder]
        if len(seeds) != 1 or len(seeds[0].args) != 1 or not _is_the_same(parsed, definition, seeds[0].args[0].value, number):
            continue
        if "get_state" in parsed.text(definition) and view.runs_below("<1.9"):
            continue  # a worker begins with the state of the process that starts it there
        drawn = [item_draw(view, dataset, seeder) for dataset in datasets]
        if all(drawn) and _in_epochs(view, event, loader):
            site = Site(parsed, seeds[0])
            related = [(drawn[0], "each sample draws from it"), (event.site, "each pass over this loader starts its workers anew")]
            yield Report(CODE, site, {"name": view.call_text(site), "how": _AGAIN}, related, words=_EPOCHS)


def _is_the_same(parsed: Parsed, definition: cst.FunctionDef | cst.Lambda, seed: cst.BaseExpression, number: str, depth: int = 0) -> bool:
    """Whether a seed is made of nothing but the worker's number and what no epoch changes."""
    if isinstance(seed, cst.BinaryOperation):
        return all(_is_the_same(parsed, definition, side, number, depth) for side in (seed.left, seed.right))
    if isinstance(seed, cst.Call):
        whole = parsed.text(seed.func) == "int" and len(seed.args) == 1
        return whole and _is_the_same(parsed, definition, seed.args[0].value, number, depth)
    text = parsed.text(seed)
    if isinstance(seed, cst.Name) and text != number:
        binds = [node for node in walk(definition.body) if isinstance(node, (cst.AssignTarget, cst.AugAssign)) and parsed.text(node.target) == text]
        if binds:  # `seed = 42 + worker_id`
            made = next(parsed.around(binds[0]), None)
            once = len(binds) == 1 and isinstance(made, cst.Assign) and depth < 4
            return once and _is_the_same(parsed, definition, made.value, number, depth + 1)
    fixed = isinstance(seed, (cst.Name, cst.Attribute)) and _FIXED.fullmatch(text) is not None
    return isinstance(seed, cst.Integer) or text == number or fixed or text.replace("numpy.", "np.") == _OWN_STATE


def _tells_workers_apart(definition: cst.FunctionDef | cst.Lambda, number: str) -> bool:
    return any(isinstance(node, cst.Name) and node.value == number for node in walk(definition.body))


def _in_epochs(view: View, event: Event, loader: Instance) -> bool:
    """Whether a training goes through the loader again and again, as it was made."""
    for backward in view.of("backward"):
        for depth, loop in enumerate(backward.loops):
            outer = [other for other in backward.loops[:depth] if other not in event.loops and not other.once]
            if goes_over(loop.over, loader) and any(_of_epochs(other) for other in outer):
                return True
    return False


def _of_epochs(loop: Loop) -> bool:
    node = loop.site.node if loop.site is not None else None
    head = loop.site.parsed.text(node.iter) + " " + loop.site.parsed.text(node.target) if isinstance(node, cst.For) else ""
    return isinstance(node, cst.While) or re.search(r"\brange\(|epoch", head, re.IGNORECASE) is not None


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
