"""Loops over data that are called held out in which the optimizer of the training steps: the model learns what it is to be tested on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Site, unit_text
from torchlint.dryrun.values import Event, Loop
from torchlint.rules.base import View
from torchlint.rules.shared.surroundings import bound

_PARTS = r"(?:val|vali|valid|validation|dev|test|testing|eval|evaluation)"
_GONE_THROUGH = r"(?:_?data)?_?(?:loader|dl|iter|iterator|gen|generator|batches|set|ds)"
_HELD_OUT = re.compile(rf"(?:^|_){_PARTS}{_GONE_THROUGH}$|^(?:data_?)?(?:loader|dl|iter|iterator)_{_PARTS}$", re.IGNORECASE)
_TRAINS = re.compile("train|trn", re.IGNORECASE)
# What an evaluation counts, or is called.
_SAYS_SO = re.compile(rf"(?:^|_){_PARTS}(?:$|_|\d|[A-Z])|^(?:val|valid|test)(?:acc|loss|error)|validate|evaluate", re.IGNORECASE)
# Who learns from held-out data on purpose: at test time, of a few labels, in two levels.
_ON_PURPOSE = re.compile(
    r"adapt|fine_?tun|(?<![A-Za-z])meta|maml|few_?shot|support|(?<![A-Za-z])inner|episod|attack|perturb|advers|pseudo|unlabel|semi_?sup|transduc|test_?time|\bttt\b|\btta\b"
    r"|\btent\b|bilevel|arch(?:itect|_param)|alphas?\b|target_domain|online|continual|incremental|calibrat|temperature",
    re.IGNORECASE,
)


@dataclass(slots=True, frozen=True)
class Learnt:
    """The step that is taken in an evaluation, the loop around it, what that goes over, and the loop that trains."""

    step: Site
    loop: Site
    over: str
    trains: Site


def trained_on_held_out(view: View) -> Iterator[Learnt]:
    """`for x, y in valid_loader: ...; optimizer.step()` beside the same `for x, y in train_loader:`."""
    steps = list(view.of("optimizer.step"))
    told = set()
    for step in steps:
        loop = next((loop for loop in reversed(step.loops) if _over(loop) is not None), None)
        over = _over(loop) if loop is not None else None
        if over is None or not _HELD_OUT.search(over) or _TRAINS.search(over) or loop.site in told:
            continue
        trains = next((found for other in steps if other.subject is step.subject and (found := _training(other)) is not None), None)
        if trains is None or not _is_always_taken(view, step, loop) or not _is_an_evaluation(step, loop, trains) or _is_meant(step, loop):
            continue
        told.add(loop.site)
        yield Learnt(step.site, loop.site, over, trains.site)


def _over(loop: Loop) -> str | None:
    """The name of the data that a loop goes through: `loader` of `for i, (x, y) in enumerate(tqdm(self.loader))`, or of `in moved(loader)`."""
    node = loop.site.node if loop.site is not None else None
    over = node.iter if isinstance(node, cst.For) else None
    while isinstance(over, cst.Call) and over.args:
        over = over.args[0].value
    if isinstance(over, cst.Attribute):
        over = over.attr
    return over.value if isinstance(over, cst.Name) else None


def _training(step: Event) -> Loop | None:
    """The loop around a step that goes through what is called the training's."""
    return next((loop for loop in step.loops if _TRAINS.search(_over(loop) or "")), None)


def _is_always_taken(view: View, step: Event, loop: Loop) -> bool:
    """Whether each turn of a loop comes to a step: nothing is asked on the way there."""
    begun = next((event for event in view.of("loop") if event.loops and event.loops[-1] is loop), None)
    return begun is not None and list(begun.guards) == list(step.guards)


def _is_an_evaluation(step: Event, loop: Loop, trains: Loop) -> bool:
    """Whether what is counted in the loop, or what its function is called, says that it validates or tests; or both loops stand side by
    side in the epochs, and the data are those for the test."""
    names = bound(loop.site.node)
    if any(map(_TRAINS.search, names)):
        return False
    beside = any(outer.site == other.site for outer in step.loops[: step.loops.index(loop)] for other in _around(trains, step))
    return any(map(_SAYS_SO.search, names)) or bool(_SAYS_SO.search(loop.site.parsed.unit.name)) or beside and "test" in (_over(loop) or "").lower()


def _around(trains: Loop, step: Event) -> list[Loop]:
    """The loops around the one that evaluates whose text has the one that trains in it."""
    place = trains.site
    return [
        loop for loop in step.loops
        if loop.site is not None and loop.site.parsed is place.parsed and any(part is loop.site.node for part in place.parsed.around(place.node))
    ]


def _is_meant(step: Event, loop: Loop) -> bool:
    """Whether the function of the loop or of the step, or a file's name, speaks of what learns from held-out data on purpose."""
    sites = (loop.site, step.site, *(site for site in step.calls if site is not None))
    return any(_ON_PURPOSE.search(unit_text(site.parsed.facts, site.parsed.unit)) or _ON_PURPOSE.search(site.path.rsplit("/", 1)[-1]) for site in sites)
