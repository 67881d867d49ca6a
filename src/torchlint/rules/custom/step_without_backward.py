"""103: one half of a training step is missing."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import common_loop
from torchlint.dryrun.values import Instance, Ref
from torchlint.rules.base import Report, View

CODE = 103


def check(view: View) -> Iterator[Report]:
    """A loop that computes a loss and steps, with no backward anywhere; or backward, and the optimizer never steps."""
    for optimizer in view.optimizers():
        if isinstance(optimizer, Instance) and isinstance(optimizer.cls, Ref) and not _gradients_come(view, optimizer):
            yield from _step_alone(view, optimizer)
    for created in view.of("optimizer.create"):
        yield from _backward_alone(view, created)


def _gradients_come(view: View, optimizer) -> bool:
    if view.of("backward", "autograd.grad", "grad.set"):
        return True
    return any(view.may_touch(event, optimizer) for event in view.of("unknown", "called"))


def _step_alone(view: View, optimizer) -> Iterator[Report]:
    for step in view.steps():
        if step.subject is not optimizer or not step.loops or step.get("closure") is not None:
            continue
        losses = [event for event in view.of("loss", "forward") if common_loop(event, step) is step.loops[-1]]
        if any(event.kind == "loss" for event in losses) or losses and view.held_by(optimizer)[0]:
            roles = {"call": view.call_text(step.site), "optimizer": view.owner_text(step, "optimizer"), "model": "the model"}
            yield Report(CODE, step.site, roles, [(losses[-1].site, "computed here, but never sent backward")])


def _backward_alone(view: View, created) -> Iterator[Report]:
    optimizer = created.subject
    if not isinstance(optimizer, Instance) or not isinstance(optimizer.cls, Ref):
        return
    if view.steps() or view.of("scaler.step", "return") or id(optimizer) in view.run.escaped:
        return
    if any(view.may_touch(event, optimizer) for event in view.of("unknown", "called")):
        return
    if any(event.value is optimizer for event in view.of("setattr")) or not view.of("optimizer.zero_grad"):
        return
    for backward in view.of("backward"):
        if backward.loops and view.reaches(backward, optimizer) and backward.get("framework") is None:
            loss = view.owner_text(backward, "loss")
            roles = {"call": view.call_text(backward.site), "loss": loss, "model": "the model"}
            yield Report(CODE, backward.site, roles, [(created.site, "this optimizer never steps")])
            return
