"""105: what is left over at the end of an epoch leaks into the next one's first step."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import may_meet
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Loop, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import Accumulation, accumulations, is_zero, may_step_or_clear

CODE = 105


def check(view: View) -> Iterator[Report]:
    """An accumulating loop whose count starts again in each epoch, with no step after it and no zero_grad before it."""
    for found in accumulations(view):
        loop = found.step.loops[-1]
        text = found.guard.text()
        if (
            not any(_trains_on(view, found, outer) for outer in found.step.loops[:-1])
            or re.search(r"\bor\b|len\(|last|final", text)
            or not (_restarts(loop, _name_outside(found)) or _set_back(found, loop))
        ):
            continue
        if not _flushed(view, found, loop):
            roles = {"every": found.every, "call": view.call_text(found.step.site)}
            yield Report(
                CODE,
                found.step.site,
                roles,
                [
                    (found.guard, "batches after the last multiple are not stepped"),
                    (loop.site, "and the next pass of this loop adds to their gradients"),
                ],
            )


def _trains_on(view: View, found: Accumulation, loop: Loop) -> bool:
    """Whether the turns of a loop around the accumulation train one model, and not each a new one, as the folds of a
    cross-validation."""
    trained = view.held_by(found.optimizer)[0] or (found.optimizer,)
    return not all(view.made_anew(one, loop) for one in trained)


def _name_outside(found: Accumulation) -> str:
    """What the counter is called in the loop, where a function that the loop calls is given it and does the step."""
    unit, calls = found.guard.parsed.unit, found.step.calls
    if found.counter not in unit.params or not calls or not isinstance(calls[-1].node, cst.Call):
        return found.counter
    args = calls[-1].node.args
    place = unit.params.index(found.counter) - (unit.params[0] == "self")
    by_name = next((arg for arg in args if arg.keyword is not None and arg.keyword.value == found.counter), None)
    given = by_name or (args[place] if place < len(args) and not any(arg.star or arg.keyword for arg in args[: place + 1]) else None)
    return given.value.value if given is not None and isinstance(given.value, cst.Name) else found.counter


def _restarts(loop: Loop, counter: str) -> bool:
    """Whether the counter is the loop's own `enumerate`, over something whose length is a matter of the data."""
    node = loop.site.node
    if not isinstance(node, cst.For) or not isinstance(node.target, cst.Tuple):
        return False
    first = node.target.elements[0].value
    return isinstance(first, cst.Name) and first.value == counter and "enumerate(" in loop.site.parsed.text(node.iter)


def _set_back(found: Accumulation, loop: Loop) -> bool:
    """Whether a counter that the program keeps by hand begins with 0 before each pass of the loop."""
    parsed, node = loop.site.parsed, loop.site.node
    if found.guard.parsed is not parsed or not isinstance(node, cst.For) or "range(" in parsed.text(node.iter):
        return False
    inside = set(map(id, walk(node)))
    zeros = [part for part in walk(parsed.module) if isinstance(part, cst.Assign) and is_zero(parsed, part, found.counter) and id(part) not in inside]
    outer = [other.site for other in found.step.loops[:-1] if other.site.parsed is parsed]
    again = set(map(id, walk(outer[-1].node))) if outer else None
    return any(again is None or id(part) in again for part in zeros)


def _flushed(view: View, found: Accumulation, loop: Loop) -> bool:
    """Whether another step or zero_grad is there for what is left over."""
    optimizer = found.optimizer
    for event in view.of("optimizer.step"):
        if event.site != found.step.site and may_meet(event, found.step) and (optimizer in real(event.subject) or not real(event.subject)):
            return True
    for event in view.of("optimizer.zero_grad"):
        if loop not in event.loops and event.loops and view.may_clear(event, optimizer):
            return True
    return any(may_step_or_clear(view, event, optimizer) for event in view.of("unknown", "called") if event.loops)
