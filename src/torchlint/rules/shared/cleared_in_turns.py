"""Gradients that each turn of a loop clears, where the step that would use them comes behind that loop: the last turn's alone count."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import may_meet
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Loop, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import by_engine, in_accumulate

_WORDS = (
    "`{call}` in each turn of this loop throws away the gradients of the turn before: `{optimizer}.step()` comes behind the loop, and "
    "uses those of its last turn alone",
    "move `{optimizer}.step()` into the loop, or `{call}` in front of it",
)
# Gradients that are read, kept or handed on in the loop are not lost with it.
_READS = frozenset({"grad", "grads", "_grad", "gradients", "get_gradients", "collect_gradients", "register_hook", "register_post_accumulate_grad_hook"})


def cleared_in_turns(view: View, code: int) -> Iterator[Report]:
    """`for x, y in loader: optimizer.zero_grad(); criterion(model(x), y).backward()`, and then `optimizer.step()`"""
    told = set()
    for step in view.steps():
        optimizer = step.subject
        if view.in_own_time(step) or not isinstance(optimizer, Instance):
            continue
        backward = _last_before(view, step)
        if backward is None or not _always_comes(backward) or not _goes_round(view, backward, step):
            continue
        loop = backward.loops[-1]
        clear = next((event for event in view.of("optimizer.zero_grad") if _in_each_turn(view, event, backward, optimizer)), None)
        if clear is None or clear.site in told or _gradients_are_read(view, loop):
            continue
        told.add(clear.site)
        roles = {"call": view.call_text(clear.site), "loss": view.loss_text(backward), "optimizer": view.owner_text(step, "optimizer")}
        if step.get("scaler") is not None:
            roles["optimizer"] = optimizer.name or "optimizer"
        related = [(backward.site, "the gradients are computed in each turn"), (step.site, "and would be used here, behind the loop")]
        yield Report(code, clear.site, roles, related, words=_WORDS)


def _last_before(view: View, step: Event) -> Event | None:
    """The last backward of a loop that a step stands behind, where nothing in between makes other gradients for it."""
    ahead = [event for event in view.of("backward") if event.serial < step.serial and may_meet(event, step)]
    within = [event for event in ahead if event.loops[:-1] == step.loops and len(event.loops) > len(step.loops) and _is_plain(event)]
    backward = next((event for event in reversed(within) if view.reaches(event, step.subject) is True), None)
    if backward is None:
        return None
    between = [event for event in view.of("backward", "grad.set", "unknown", "called") if backward.serial < event.serial < step.serial]
    for event in between:
        if event.kind != "backward" and view.may_touch(event, step.subject):
            return None
        if event.kind == "backward" and backward.loops[-1] not in event.loops and view.reaches(event, step.subject) is not False:
            return None
    return backward


def _is_plain(backward: Event) -> bool:
    return "retain_graph" not in backward.get("kwargs", {}) and not by_engine(backward) and in_accumulate(backward) is None


def _always_comes(backward: Event) -> bool:
    """Whether each turn of a loop goes backward: a rare one may be the last alone."""
    return not any(backward.loops[-1] in guard.varies for guard in backward.guards)


def _goes_round(view: View, backward: Event, step: Event) -> bool:
    """Whether a loop is one over more than one thing that no turn ends: `for attempt in range(3): ...; break` tries until it works."""
    loop = backward.loops[-1]
    node = loop.site.node if loop.site is not None else None
    if loop.once or not isinstance(node, cst.For) or any(isinstance(part, (cst.Break, cst.Return, cst.Raise)) for part in walk(node.body)):
        return False
    # What steps in the loop, too, steps behind it for another reason.
    return not any(loop in other.loops and may_meet(other, step) and _may_be(other.subject, step.subject) for other in view.steps())


def _may_be(value: Value | None, optimizer: Instance) -> bool:
    return any(alt is optimizer or not isinstance(alt, Instance) for alt in real(value))


def _in_each_turn(view: View, clear: Event, backward: Event, optimizer: Instance) -> bool:
    """Whether an event clears all gradients of an optimizer before each backward of a loop."""
    if clear.loops != backward.loops or clear.serial > backward.serial or not set(clear.guards) <= set(backward.guards):
        return False
    return any(view.surely(clear.subject, one) for one in (optimizer, *view.held_by(optimizer)[0])) or _wraps_it(view, clear.subject, optimizer)


def _wraps_it(view: View, value: Value | None, optimizer: Instance) -> bool:
    """Whether a value is a wrapper around the one model that an optimizer has, be it one of several: `DataParallel(model)`."""
    alts, modules = real(value), view.held_by(optimizer)[0]
    wrapper = alts[0] if len(alts) == 1 else None
    if not isinstance(wrapper, Instance) or wrapper.kind != "wrapper" or not wrapper.args:
        return False
    inner = real(wrapper.args[0])
    return bool(modules) and all(any(alt is module for alt in inner) for module in modules)


def _gradients_are_read(view: View, loop: Loop) -> bool:
    """Whether the functions that run in a loop, or the one around it, name gradients."""
    units = {event.site.parsed.unit for event in view.run.graph.events if event.site is not None and loop in event.loops}
    units.add(loop.site.parsed.unit)
    return any(unit.words & _READS for unit in units)
