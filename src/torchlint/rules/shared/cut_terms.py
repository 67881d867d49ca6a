"""One term of a loss that goes backward for a model which it cannot reach: it is computed of what that model made, cut from it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import before
from torchlint.dryrun.values import MOST, Event, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View

_WORDS = (
    "`{call}` is given the output of `{model}` without its graph: this term of `{loss}` has no gradient for `{model}`, which is all that "
    "is updated by it",
    "leave the graph in place here: the output is detached in the step of the model that judges it, not in this one",
)


def cut_terms(view: View, code: int) -> Iterator[Report]:
    """`adversarial = mse(disc(fake.detach()), ones); (adversarial + content).backward(); generator_optimizer.step()`."""
    told = set()
    for step in view.steps():
        backward = _just_before(view, step)
        if backward is None or not _for_this_alone(view, backward, step):
            continue
        for loss in view.of("loss"):
            judged = _judged(view, backward, loss, step.subject)
            if judged is None or judged[0].site in told:
                continue
            forward, model = judged
            told.add(forward.site)
            roles = {
                "call": view.call_text(forward.site), "model": view.owner_text(model, "the model"), "loss": view.loss_text(backward),
            }
            related = [(loss.site, "the term"), (backward.site, "goes backward here"), (step.site, "and updates this alone")]
            yield Report(code, forward.site, roles, related, words=_WORDS)


def _just_before(view: View, step: Event) -> Event | None:
    """The one backward that each path to a step has come by last, where it reaches all that the optimizer holds: modules in view."""
    if not step.loops or view.in_own_time(step):
        return None
    modules, tensors, complete = view.held_by(step.subject)
    if not modules or tensors or not complete:
        return None
    found, start = before(step, lambda event: event.kind in ("backward", "optimizer.step", "autograd.grad", "loop"))
    backward = found[0] if len(found) == 1 and not start else None
    if backward is None or backward.kind != "backward" or backward.loops != step.loops:
        return None
    return backward if view.reaches(backward, step.subject) is True else None


def _for_this_alone(view: View, backward: Event, step: Event) -> bool:
    """Whether no other optimizer takes a step by what a backward leaves behind: each clears it first."""
    loop = step.loops[-1]
    turn = [event for event in view.of("optimizer.step", "optimizer.zero_grad", "autograd.grad") if loop in event.loops]
    turn.sort(key=lambda event: (event.serial < backward.serial, event.serial))  # from here on, and then the next turn
    others = {id(alt): alt for event in view.steps() for alt in real(event.subject) if alt is not step.subject}
    for other in others.values():
        first = next((event for event in turn if any(alt is other for alt in real(event.subject))), None)
        if first is not None and first.kind != "optimizer.zero_grad":
            return False
    return True


def _judged(view: View, backward: Event, loss: Event, optimizer: Value) -> tuple[Event, Event] | None:
    """The call of another model whose answer a term of the loss is computed of alone, and the call that made what
    it is given."""
    if loss.grad_on is not True or loss.loops != backward.loops or not _is_term(backward, loss):
        return None
    given, target = real(loss.input), real(loss.target)
    if len(given) != 1 or not isinstance(given[0], Opaque) or not target or any(alt.flows for alt in target):
        return None
    calls = _calls(given[0])
    if len(calls) != 1 or not calls[0].get("args") or calls[0].get("grad") is not True:
        return None
    updated = view.held_by(optimizer)[0]
    if calls[0].subject is None or any(view.related_modules(module, calls[0].subject) for module in updated):
        return None
    inputs = real(calls[0].args[0])
    made = inputs[0].traits.get("detached") if len(inputs) == 1 and isinstance(inputs[0], Tensor) else None
    if not isinstance(made, Tensor) or made.traits.get("graph") is False or any(value.flows for value in calls[0].args):
        return None
    makers = [event for event in made.flows if event.kind == "forward" and event.get("grad") is True and event.subject is not None]
    makers = [event for event in makers if any(view.related_modules(module, event.subject) for module in updated)]
    return (calls[0], _outermost(view, min(makers, key=lambda event: event.serial))) if makers else None


def _outermost(view: View, call: Event) -> Event:
    """The call of the model that a call of one of its parts belongs to."""
    around = [event for event in view.of("forward") if not event.get("inside") and event.serial <= call.serial and event.loops == call.loops]
    return max(around, key=lambda event: event.serial) if call.get("inside") and around else call


def _calls(given: Opaque) -> list[Event]:
    """The calls of models that a value came out of; none where that is not sure, since what is noted of it is cut at a size."""
    last = given.traits.get("out_of") if isinstance(given, Tensor) else None
    if last is not None:
        return [last]
    return [event for event in given.flows if event.kind == "forward" and not event.get("inside")] if len(given.flows) < MOST else []


def _is_term(backward: Event, loss: Event) -> bool:
    """Whether a loss is part of what goes backward, and not all of it."""
    return any(
        isinstance(part, Tensor) and part.site == loss.site and part.traits.get("loss") and part.traits.get("graph") is not False
        for part in backward.parts
    )
