"""103: one half of a training step is missing."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import common_loop
from torchlint.dryrun.values import Dict, Func, Instance, Method, Ref, Seq, Value, real
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
    if view.of("autograd.grad", "grad.set") or any(view.reaches(event, optimizer) is not False for event in view.of("backward")):
        return True
    return any(view.may_touch(event, optimizer) for event in view.of("unknown", "called"))


def _step_alone(view: View, optimizer) -> Iterator[Report]:
    for step in view.steps():
        if step.subject is not optimizer or not step.loops or step.get("closure") is not None:
            continue
        losses = [event for event in view.of("loss", "forward") if common_loop(event, step) is step.loops[-1]]
        if any(event.kind == "loss" for event in losses) or losses and view.held_by(optimizer)[0]:
            roles = {"call": view.call_text(step.site), "optimizer": view.owner_text(step, "optimizer")}
            roles["model"] = view.model_text(optimizer)
            others = [event for event in view.of("backward") if common_loop(event, step) is step.loops[-1]]
            if others:  # the loss of another model, as the optimizer sees it
                related = (others[-1].site, "this computes no gradient for what the optimizer steps")
            else:
                related = (losses[-1].site, "computed here, but never sent backward")
            yield Report(CODE, step.site, roles, [related])


def _backward_alone(view: View, created) -> Iterator[Report]:
    optimizer = created.subject
    if not isinstance(optimizer, Instance) or not isinstance(optimizer.cls, Ref):
        return
    if view.steps() or view.of("scaler.step") or id(optimizer) in view.run.escaped or _handed_out(view, optimizer):
        return
    if any(view.may_touch(event, optimizer) for event in view.of("unknown", "called")):
        return
    if not view.of("optimizer.zero_grad"):
        return
    for backward in view.of("backward"):
        if backward.loops and view.reaches(backward, optimizer) and backward.get("framework") is None:
            if _by_hand(view, backward):
                return
            loss = view.owner_text(backward, "loss")
            roles = {"call": view.call_text(backward.site), "loss": loss, "model": view.model_text(optimizer)}
            yield Report(CODE, backward.site, roles, [(created.site, "this optimizer never steps")])
            return


def _by_hand(view: View, backward) -> bool:
    """Whether the same loop writes to parameters itself: `p.data.add_(p.grad, alpha=-lr)`."""
    return any(
        event.loops[: len(backward.loops)] == backward.loops and event.site.parsed.unit.words & {"grad"}
        for event in view.of("inplace", "augment") if event.site is not None
    )


def _handed_out(view: View, optimizer: Instance) -> bool:
    """Whether code outside this run may come by the optimizer, and step it."""
    if any(_holds(view, event.subject, optimizer) for event in view.of("return")):
        return True
    kept = [event for event in view.of("setattr") if any(alt is optimizer for alt in real(event.value))]
    if not kept:
        return False
    # Kept on an object of a whole program, in a file that does not know the word, it steps nowhere.
    whole = view.run.root is None and not any(id(event.subject) in view.run.escaped for event in kept)
    return not whole or any("step" in event.site.parsed.facts.words for event in kept)


def _holds(view: View, value: Value, optimizer: Instance, depth: int = 0) -> bool:
    for alt in real(value):
        if alt is optimizer or isinstance(alt, (Func, Method)) or isinstance(alt, Instance) and alt.kind == "instance":
            return True
        if isinstance(alt, (Seq, Dict)) and (depth > 3 or any(_holds(view, item, optimizer, depth + 1) for item in view.run.known_items(alt))):
            return True
    return False
