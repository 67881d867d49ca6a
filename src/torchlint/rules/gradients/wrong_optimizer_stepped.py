"""136: the loss of one model, the step of another one's optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after, before
from torchlint.dryrun.values import MOST, Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.twins import twin_trained

CODE = 136
_CLEARED = (
    "`{call}` follows `{loss}.backward()`, for which `{other}` was cleared; `{other}` never steps on its gradients",
    "step the optimizer that was cleared for the loss: `{other}`",
)
_TWIN = (
    "`{call}` updates a `{model}` that nothing is computed with: the one that `{loss}` comes from is another, which no optimizer holds",
    "build one `{model}`, and give the optimizer its parameters",
)


def check(view: View) -> Iterator[Report]:
    """A step of an optimizer that has no gradients, right after a backward that fills those of one that does not
    step, or of no optimizer's model."""
    yield from _of_twins(view)
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
        if backward is not None and (other := _cleared_for(view, backward, optimizer, optimizers)) is not None:
            yield _report(view, step, backward, other, _CLEARED)
            continue
        if (
            backward is None
            or len(backward.flows) >= MOST
            or view.reaches(backward, optimizer) is not False
            or not _without_gradient(view, step, optimizer)
        ):
            continue
        meant = [o for o in optimizers if o is not optimizer and view.reaches(backward, o) is True]
        if meant and not any(_steps_later(view, backward, o) for o in meant):
            yield _report(view, step, backward, meant[0])


def _of_twins(view: View) -> Iterator[Report]:
    """`optimizer = Adam(Net().parameters())`, while another `Net()` is trained."""
    for step in view.steps():
        optimizer = step.subject
        if not step.loops or not isinstance(optimizer, Instance) or not isinstance(optimizer.cls, Ref) or step.get("closure") is not None:
            continue
        backward = _just_before(view, step)
        twin = twin_trained(view, backward, optimizer) if backward is not None else None
        if twin is not None and _without_gradient(view, step, optimizer):
            held = view.held_by(optimizer)[0][0]
            roles = {"call": view.call_text(step.site), "model": held.type, "loss": view.loss_text(backward)}
            related = [(held.site, "the optimizer has the parameters of this one"), (twin.site, "this one is trained")]
            yield Report(CODE, step.site, roles, related, words=_TWIN)


def _report(view: View, step: Event, backward: Event, other: Instance, words: tuple[str, str] | None = None) -> Report:
    roles = {
        "call": view.call_text(step.site),
        "optimizer": view.owner_text(step, "optimizer"),
        "loss": view.loss_text(backward),
        "other": other.name or "the other optimizer",
    }
    related = [(backward.site, f"this fills the gradients of `{roles['other']}`, which takes no step")]
    return Report(CODE, step.site, roles, related, words=words)


def _cleared_for(view: View, backward: Event, optimizer: Instance, optimizers: list[Instance]) -> Instance | None:
    """The other optimizer that was cleared for a backward and never steps, where the one that does has not been cleared since its own
    step: a generator's loss goes through the critic, too, and leaves gradients there that are not meant."""
    found, start = before(backward, lambda event: event.kind in ("optimizer.zero_grad", "optimizer.step", "backward", "loop"))
    if len(found) != 1 or start or found[0].kind != "optimizer.zero_grad" or found[0].loops != backward.loops:
        return None
    other = found[0].subject
    if other is optimizer or not any(other is o for o in optimizers) or view.reaches(backward, other) is not True:
        return None
    if view.may_clear(found[0], optimizer):
        return None  # they hold the same weights

    def stop(event: Event) -> bool:
        own = event.kind == "optimizer.step" and any(alt is optimizer for alt in real(event.subject))
        return own or event.kind == "loop" or view.may_clear(event, optimizer)

    last, start = before(backward, stop)
    stepped = len(last) == 1 and not start and last[0].kind == "optimizer.step" and last[0].loops == backward.loops
    return other if stepped and not any(_may_step(view, event, other) for event in view.of("optimizer.step", "unknown", "called")) else None


def _may_step(view: View, event: Event, optimizer: Instance) -> bool:
    """Whether an optimizer may step somewhere, as far as the run shows."""
    if event.kind == "optimizer.step":
        return any(alt is optimizer or not isinstance(alt, Instance) for alt in real(event.subject))
    return view.may_touch(event, optimizer)


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
