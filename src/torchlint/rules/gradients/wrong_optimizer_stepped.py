"""136: the loss of one model, the step of another one's optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after, before
from torchlint.dryrun.values import MOST, Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View

CODE = 136


def check(view: View) -> Iterator[Report]:
    """A step of an optimizer that has no gradients, right after a backward that fills those of one that does not
    step."""
    optimizers = [event.subject for event in view.of("optimizer.create")]
    optimizers = [
        o
        for o in optimizers
        if isinstance(o, Instance) and isinstance(o.cls, Ref) and view.held_by(o)[0] and view.held_by(o)[2]
    ]
    if len(optimizers) < 2:
        return
    for step in view.steps():
        optimizer = step.subject
        if not step.loops or not any(optimizer is o for o in optimizers) or step.get("closure") is not None:
            continue
        backward = _just_before(view, step)
        if (
            backward is None
            or len(backward.flows) >= MOST
            or view.reaches(backward, optimizer) is not False
            or not _without_gradient(view, step, optimizer)
        ):
            continue
        meant = [o for o in optimizers if o is not optimizer and view.reaches(backward, o) is True]
        if meant and not any(_steps_later(view, backward, o) for o in meant):
            roles = {
                "call": view.call_text(step.site),
                "optimizer": view.owner_text(step, "optimizer"),
                "loss": view.owner_text(backward, "loss"),
                "other": meant[0].name or "the other optimizer",
            }
            yield Report(
                CODE,
                step.site,
                roles,
                [(backward.site, f"this fills the gradients of `{roles['other']}`, which takes no step")],
            )


def _just_before(view: View, step: Event) -> Event | None:
    """The one backward that every path to the step has come by last."""
    found, start = before(step, lambda event: event.kind in ("backward", "optimizer.step", "autograd.grad", "loop"))
    return (
        found[0]
        if len(found) == 1 and not start and found[0].kind == "backward" and found[0].loops == step.loops
        else None
    )


def _without_gradient(view: View, step: Event, optimizer: Value) -> bool:
    """Whether nothing since the optimizer's last step or zero_grad can have given it gradients."""

    def stop(event: Event) -> bool:
        if event.kind == "backward":
            return view.reaches(event, optimizer) is not False
        if event.kind in ("optimizer.step", "optimizer.zero_grad") and any(
            alt is optimizer for alt in real(event.subject)
        ):
            return True
        return (
            event.kind in ("autograd.grad", "grad.set")
            or event.kind in ("unknown", "called")
            and view.may_touch(event, optimizer)
        )

    found, _ = before(step, stop)
    return all(event.kind in ("optimizer.step", "optimizer.zero_grad") for event in found)


def _steps_later(view: View, backward: Event, optimizer: Value) -> bool:
    """Whether an optimizer may step on the gradients of a backward before they are cleared."""

    def stop(event: Event) -> bool:
        if event.kind in ("optimizer.step", "optimizer.zero_grad"):
            return any(alt is optimizer or not isinstance(alt, Instance) for alt in real(event.subject))
        return event.kind in ("unknown", "called") and view.may_touch(event, optimizer)

    found, _ = after(backward, stop)
    return any(event.kind != "optimizer.zero_grad" for event in found)
