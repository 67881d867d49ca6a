"""130: the optimizer steps before backward in the loop body."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after, before, may_meet
from torchlint.dryrun.values import Event, Instance
from torchlint.rules.base import Report, View

CODE = 130


def check(view: View) -> Iterator[Report]:
    """An unconditional step to which every path from the loop's head comes without a backward, and one follows."""
    for step in view.steps():
        optimizer = step.subject
        if not step.loops or view.in_own_time(step) or not isinstance(optimizer, Instance) and not view.only_optimizer(optimizer):
            continue
        for backward in view.of("backward"):
            if backward.loops == step.loops and backward.guards == step.guards and _out_of_order(view, step, backward):
                roles = {"optimizer": view.owner_text(step, "optimizer"), "loss": view.loss_text(backward)}
                yield Report(CODE, step.site, roles, [(backward.site, "the gradients are computed only here")])
                break


def _out_of_order(view: View, step: Event, backward: Event) -> bool:
    optimizer, loop = step.subject, step.loops[-1]
    if view.reaches(backward, optimizer) is not True:
        return False
    if any(other is not backward and loop in other.loops and may_meet(other, step) and view.reaches(other, optimizer) is not False for other in view.of("backward")):
        return False

    def head(event: Event) -> bool:
        return event.kind == "loop" and event.get("loop") is loop

    def gradients(event: Event) -> bool:
        return event.kind in ("backward", "autograd.grad") or event.kind in ("unknown", "called") and view.may_touch(event, optimizer)

    back, _ = before(step, lambda event: head(event) or gradients(event))
    onward, _ = after(step, lambda event: head(event) or event is backward or gradients(event))
    used, _ = after(backward, lambda event: head(event) or event.kind == "optimizer.step" and event.subject is optimizer)
    in_time = not all(head(event) for event in used)  # a second step follows: the first is one too many, not in the wrong place
    return bool(back) and all(head(event) for event in back) and onward == [backward] and not in_time and _computed_first(step, backward)


def _computed_first(step: Event, backward: Event) -> bool:
    """Whether the forward that backward is about comes before the step: then the order cannot be meant."""
    return any(forward.loops == step.loops for forward in backward.flows) or not backward.flows
