"""Batches that go through a model and never go backward: with the step, the backward comes only every so many."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import by_engine, every_so_often, in_accumulate

_WORDS = (
    "`{loss}.backward()` runs every {every} batches, as the step does: gradients are cleared and the loss is computed for each, and "
    "those in between count for nothing",
    "call `{loss}.backward()` for each batch, and `{optimizer}.zero_grad()` behind the step",
)


def in_vain(view: View, code: int) -> Iterator[Report]:
    """`zero_grad(); loss = criterion(model(x), y); if i % k == 0: loss.backward(); step()`: of k batches, one counts."""
    for step in view.steps():
        if not step.loops or view.in_own_time(step) or not isinstance(step.subject, Instance):
            continue
        for backward in view.of("backward"):
            every = _rarely(view, step, backward)
            if every is None:
                continue
            clear = next((event for event in view.of("optimizer.zero_grad") if _each_time(event, step)), None)
            if clear is not None:
                roles = {"loss": view.loss_text(backward), "every": every, "optimizer": view.owner_text(step, "optimizer")}
                yield Report(code, clear.site, roles, [(backward.site, "only these batches count")], words=_WORDS)
                break


def _rarely(view: View, step: Event, backward: Event) -> str | None:
    """By what number of batches a backward and its step come, where what they use is computed for each, and for them alone."""
    if backward.loops != step.loops or backward.guards != step.guards or in_accumulate(backward) is not None or by_engine(backward):
        return None
    forwards = [flow for flow in backward.flows if flow.kind == "forward" and not flow.get("inside")]
    if not forwards or view.reaches(backward, step.subject) is not True or any(flow.loops != step.loops for flow in forwards):
        return None
    found = [every_so_often(backward, flow) for flow in forwards]
    if None in found or len({every for _, _, every in found}) != 1 or not _counts(step, found[0][0], found[0][1]):
        return None
    # Of a GAN, say, whose generator learns more rarely than it is asked: the others' losses need what it gives, too.
    others = [event for event in (*view.of("backward", "autograd.grad"), *view.steps()) if step.loops[-1] in event.loops]
    if any(event not in (step, backward) for event in others) or _adds_up(backward):
        return None
    return found[0][2]


def _each_time(clear: Event, step: Event) -> bool:
    """Whether an event clears the gradients of a step's optimizer for each batch."""
    return clear.loops == step.loops and real(clear.subject) == (step.subject,) and set(clear.guards) < set(step.guards)


def _counts(step: Event, guard, counter: str) -> bool:
    """Whether a condition counts the batches of the loop, and has no other way."""
    asked = next((item for item in guard[0].parsed.around(guard[0].node) if isinstance(item, cst.If)), None)
    loop = step.loops[-1].site
    if asked is None or asked.orelse is not None or loop is None or not isinstance(loop.node, cst.For):
        return False
    return _names(loop.node.target, counter) or any(
        isinstance(node, cst.AugAssign) and loop.parsed.text(node.target).rpartition(".")[2] == counter for node in walk(loop.node.body)
    )


def _adds_up(backward: Event) -> bool:
    """Whether a loss may be that of several batches: no statement of the loop makes it anew for each."""
    name, loop = _loss(backward), backward.loops[-1].site
    if name is None or loop is None or not isinstance(loop.node, cst.For) or not isinstance(loop.node.body, cst.IndentedBlock):
        return True
    lines = [line for line in loop.node.body.body if isinstance(line, cst.SimpleStatementLine)]
    assigned = [small for line in lines for small in line.body if isinstance(small, cst.Assign)]
    made = [small for small in assigned if any(_names(target.target, name) for target in small.targets)]
    return all(_names(small.value, name) for small in made)


def _loss(backward: Event) -> str | None:
    """The name of a loss that goes backward, scaled or not."""
    func = getattr(backward.site.node, "func", None)
    owner = func.value if isinstance(func, cst.Attribute) else None
    if isinstance(owner, cst.Call) and len(owner.args) == 1:
        owner = owner.args[0].value
    return owner.value if isinstance(owner, cst.Name) else None


def _names(node: cst.CSTNode, name: str) -> bool:
    return any(isinstance(item, cst.Name) and item.value == name for item in walk(node))
