"""801: a distributed sampler that is never told the epoch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Instance, Loop, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import body_of, datasets_of, loader_of, trained_on

CODE = 801
_LOADER = "torch.utils.data.DataLoader"
_TRAINS = re.compile(r"(?:^|[._])(?:train|fit)(?:$|_|[A-Z])|(?:train|run)_(?:one_)?epoch$")
_LOOKS = re.compile(r"(?:^|[._])(?:train|fit|val|valid|validate|test|eval|evaluate)(?:$|_|[A-Z])|epoch$")


def check(view: View) -> Iterator[Report]:
    """The loader of a shuffling DistributedSampler is iterated in an epoch loop, and nothing calls set_epoch."""
    told = view.of("sampler.set_epoch")
    for event in view.of("loader.iterate"):
        loader = event.subject
        if not isinstance(loader, Instance) or loader.kind != "loader" or not event.loops:
            continue
        alts = [alt for alt in _samplers(view, loader) if _shuffling(alt)]  # beside it, that of a run in one process
        if not alts or event.grad_on is not True:
            continue
        if told:
            forgotten = trained_on(view, loader) and _told_of_others(view, event, told, alts)
        else:
            forgotten = "set_epoch" not in event.site.parsed.facts.words
        if not forgotten or _handed_on(view, loader, alts) or _evaluates(view, event) or _picks_itself(view, loader):
            continue
        name = event.site.text()
        if "(" in name:  # enumerate(loader)
            name = loader.name or name
        yield _report(event, name, alts)
    if not told:
        yield from _out_of_sight(view)


_TOLD = re.compile(r"\bset_epoch\b")


def _told_of_others(view: View, event: Event, told: Sequence[Event], alts: Sequence[Value]) -> bool:
    """Whether all that the project writes of `set_epoch` stands in the file of a loop, is seen, and tells samplers that were made elsewhere than
    those of the loop's loader."""
    facts = event.site.parsed.facts
    subjects = [alt for each in told for alt in real(each.subject) or (each.subject,)]
    if not all(isinstance(alt, Instance) and alt.kind != "loader" and alt.site is not None for alt in subjects):
        return False
    if {alt.site for alt in subjects} & {alt.site for alt in alts} or any(each.site.path != facts.path for each in told):
        return False
    project = view.run.world.project_of(facts.path)
    if project is not None and any("set_epoch" in file.code for path, file in project.files.items() if path != facts.path):
        return False
    rows = {each.site.location().row for each in told}
    return all(row in rows for row, line in enumerate(facts.lines, 1) if _TOLD.search(line.split("#", 1)[0]))


def _report(event: Event, name: str, samplers: Sequence[Value]) -> Report:
    related = [(samplers[0].site, "the sampler is built here")] if samplers[0].site is not None else []
    names = {"loader": name if len(name) < 40 else "loader", "sampler": getattr(samplers[0], "name", "") or "sampler"}
    return Report(CODE, event.site, names, related)


def _out_of_sight(view: View) -> Iterator[Report]:
    """Where each epoch gives the loader to a function that cannot be seen, with the optimizer, and keeps the sampler: who has the
    epochs tells the sampler, if it is not handed on. (Of 49 calls of `set_epoch` in some 2,000 repositories that were read, none is
    made through a loader that a function was given; three are, through the sampler.)"""
    reported: set[int] = set()
    given = [event for event in view.of("unknown") if any(_is_loader(alt) for arg in event.args for alt in real(arg))]
    for event in given:
        if event.subject is not None or not event.loops or not event.grad_on or not _TRAINS.search(event.name):
            continue
        if "." not in event.name or not any(_is_optimizer(alt) for arg in event.args for alt in real(arg)):
            continue
        for loader in (alt for arg in event.args for alt in real(arg) if _is_loader(alt)):
            alts = [alt for alt in _samplers(view, loader) if _shuffling(alt)]
            if not alts or id(loader) in reported or any(id(alt) in view.run.escaped for alt in alts):
                continue
            others = [other for other in given if any(loader in real(arg) for arg in other.args)]
            if any(other.subject is not None or not _LOOKS.search(other.name) for other in others) or _set_somewhere(view, event):
                continue
            reported.add(id(loader))
            yield _report(event, loader.name or "the loader", alts)


def _set_somewhere(view: View, event: Event) -> bool:
    facts = event.site.parsed.facts
    project = view.run.world.project_of(facts.path)
    return "set_epoch" in facts.words or project is not None and any("set_epoch" in file.code for file in project.files.values())


def _is_loader(value: Value) -> bool:
    return isinstance(value, Instance) and value.kind == "loader"


def _is_optimizer(value: Value) -> bool:
    return isinstance(value, Instance) and value.kind == "optimizer"


def _samplers(view: View, loader: Instance) -> tuple[Value, ...]:
    """What a loader's order comes from: its sampler, or that of its batch sampler."""
    found: list[Value] = []
    for sampler, batch_sampler in _given(view, loader):
        found.extend(real(sampler))
        for batches in real(batch_sampler):
            if isinstance(batches, Instance) and isinstance(batches.cls, Ref) and batches.type.endswith(".BatchSampler"):
                found.extend(real(batches.arg(0, "sampler")))
    return tuple(found)


def _given(view: View, loader: Instance) -> list[tuple[Value | None, Value | None]]:
    """The sampler and the batch sampler that torch's DataLoader is given."""
    return [(given.arg(3, "sampler"), given.arg(4, "batch_sampler")) for given in _handed(view, loader)]


def _handed(view: View, loader: Instance) -> list[Instance]:
    """A loader as torch's DataLoader is given its options; for a class of one's own with an `__init__`, what each call in there hands on."""
    if not isinstance(loader.cls, Class) or loader.cls.method("__init__") is None:
        return [loader]
    if _LOADER not in loader.cls.externals() or any("set_epoch" in home.facts.words for home in loader.cls.mro() if isinstance(home, Class)):
        return []
    return [Instance(loader.cls, "loader", None, event.args, event.kwargs) for event in view.of("super.init") if event.subject is loader]


def _picks_itself(view: View, loader: Instance) -> bool:
    """Whether the data set may pick its items without the index that a sampler gives: in one branch of its `__getitem__`, of two that each give
    an item, no index stands."""
    for dataset in (found for given in _handed(view, loader) for found in datasets_of(given)):
        definition, _ = body_of(view, dataset.cls, "__getitem__")
        params = definition.params.params if definition is not None else ()
        if len(params) > 1 and any(_leaves_out(node, definition, params[1].name.value) for node in walk(definition.body) if isinstance(node, cst.If)):
            return True
    return False


def _leaves_out(choice: cst.If, whole: cst.FunctionDef, index: str) -> bool:
    """Whether a name stands in one branch of a choice alone, and nowhere else."""
    def uses(node: cst.CSTNode) -> int:
        return sum(isinstance(part, cst.Name) and part.value == index for part in walk(node))

    if not isinstance(choice.orelse, cst.Else):
        return False
    branches = uses(choice.body), uses(choice.orelse.body)
    return 0 in branches and sum(branches) == uses(whole.body) > 0


def _shuffling(sampler: Value) -> bool:
    if not isinstance(sampler, Instance) or not isinstance(sampler.cls, Ref) or not sampler.type.endswith(".DistributedSampler"):
        return False
    shuffle = sampler.arg(3, "shuffle")
    return "**" not in sampler.kwargs and (shuffle is None or isinstance(shuffle, Const) and shuffle.value is True)


def _handed_on(view: View, loader: Value, samplers) -> bool:
    """Whether code that cannot be seen was given the loader or the sampler."""
    return id(loader) in view.run.escaped or any(id(sampler) in view.run.escaped for sampler in samplers)


def _evaluates(view: View, event) -> bool:
    """Whether the loop over the loader makes no training step, nor who is given its batches: the order does not matter then."""
    steps = [step for step in view.of("optimizer.step", "backward") if event.loops[-1] in step.loops]
    return not steps and not (_for_ever(event.loops[-1]) and _learnt_from(view, event.subject))


def _for_ever(loop: Loop) -> bool:
    """`while True:` of a generator, which goes through a loader again as often as its caller asks for more."""
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.While) or loop.site.parsed.text(node.test) not in ("True", "1"):
        return False
    parts = list(walk(node.body))
    return any(isinstance(part, cst.Yield) for part in parts) and not any(isinstance(part, cst.Return | cst.Break) for part in parts)


def _learnt_from(view: View, loader: Value) -> bool:
    """Whether a loss is made, time and again, of what a model says of the batches of a loader."""
    losses = [alt for event in view.of("backward") if event.loops for alt in real(event.subject)]
    forwards = {forward for loss in losses for forward in loss.flows}
    return any(loader_of(alt) is loader for forward in forwards for arg in forward.args for alt in real(arg))
