"""Weights that an optimizer's step changes between a forward and a backward through it: torch's steps are in place, and count as such."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Class, Event, Instance, Tensor, real
from torchlint.rules.base import View

_DEEPEST = 8


def stepped_between(view: View) -> Iterator[tuple[Event, Event, Event]]:
    """Backwards, each with a forward that it goes through, and the step that has changed that one's weights since on every path."""
    backwards = [event for event in view.of("backward") if event.site is not None and event.get("framework") is None]
    raised: dict[Event, list[Event]] = {}
    for backward in backwards:
        for forward in view.among("forward", backward.flows):
            if not _records(forward) or forward.calls != backward.calls or forward.loops != backward.loops:
                continue
            if not _goes_through(forward, backward) or not _needs_its_weights(view, forward, backward):
                continue
            if any(set(earlier.guards) <= set(backward.guards) for earlier in raised.get(forward, ())):
                break  # never reached: that one has stopped the program
            step = _step_between(view, forward, backward, backwards)
            if step is not None and not _runs_again(forward, step, backward):
                raised.setdefault(forward, []).append(backward)
                yield backward, forward, step
                break


def _records(forward: Event) -> bool:
    ours = isinstance(forward.subject, Instance) and forward.subject.kind in ("module", "wrapper")
    return ours and forward.get("grad") is True and not forward.get("inside") and forward.get("frozen") is None


def _goes_through(forward: Event, backward: Event) -> bool:
    """Whether the loss was computed from the very tensor that the forward gave, with its graph."""
    return any(
        isinstance(part, Tensor) and part.traits.get("graph") is True and part.traits.get("out_of") is forward
        for part in (*backward.parts, *real(backward.subject))
    )


def _step_between(view: View, forward: Event, backward: Event, backwards: list[Event]) -> Event | None:
    head = forward.loops[-1] if forward.loops else None

    def changes(event: Event) -> bool:
        return event.kind == "optimizer.step" and len(real(event.subject)) == 1 and any(
            id(forward.subject) in view.closure(held) for held in view.held_by(real(event.subject)[0])[0]
        )

    def stop(event: Event) -> bool:
        again = event.kind == "loop" and head is not None and event.get("loop") is head
        return event is backward or event is forward or again or changes(event)

    found, ends = after(forward, stop)
    steps = [event for event in found if changes(event)]
    if len(steps) != 1 or steps[0].loops != backward.loops or steps[0].guards != backward.guards:
        return None
    step, optimizer = steps[0], real(steps[0].subject)[0]
    onward, _ = after(step, lambda event: event is backward or event is forward or event.kind == "loop" and event.get("loop") is head)
    if set(step.guards) <= set(forward.guards):
        if len(found) != 1 or ends or onward != [backward]:
            return None
    elif forward in found or backward not in onward:
        return None  # of two that stand under one condition, the second one comes only where the first one came
    # Without gradients a step changes nothing.
    filled = [other for other in backwards if other is not backward and other.loops == step.loops and forward.serial < other.serial < step.serial]
    return step if any(view.reaches(other, optimizer) is True for other in filled) else None


def _runs_again(forward: Event, step: Event, backward: Event) -> bool:
    """Whether the loss comes from a later call of the model, too: what is known of that may be what was known of the first."""
    return any(flow.subject is forward.subject and flow.serial > step.serial for flow in backward.flows if flow.kind == "forward")


def _needs_its_weights(view: View, forward: Event, backward: Event) -> bool:
    """Whether the gradient goes on behind a layer's weights, for which it needs them: to what the model was given, or from one of
    its layers to the one before."""
    model = forward.subject
    if any(_has_graph(value) for value in forward.args) and view.may_learn(model):
        return True
    if _is_deep(view, model):
        return True
    within = view.closure(model)
    return any(
        flow.get("inside") and id(flow.subject) in within and _is_weighted(flow.subject) and any(_has_graph(value) for value in flow.args[:1])
        for flow in backward.flows if flow.kind == "forward"
    )


def _has_graph(value) -> bool:
    alts = real(value)
    return bool(alts) and all(isinstance(alt, Tensor) and alt.traits.get("graph") is True for alt in alts)


def _is_weighted(module) -> bool:
    return isinstance(module, Instance) and not isinstance(module.cls, Class) and module.type.rpartition(".")[2].startswith(
        ("Linear", "Conv", "Bilinear", "LSTM", "GRU", "RNN")
    )


def _is_deep(view: View, module, depth: int = 0) -> bool:
    """Whether layers with weights stand one behind the other in it for certain: in a Sequential."""
    if not isinstance(module, Instance) or depth > _DEEPEST:
        return False
    children = view.run.children.get(id(module), ())
    if module.kind == "wrapper":
        return any(_is_deep(view, alt, depth + 1) for value in module.args[:1] for alt in real(value))
    if not isinstance(module.cls, Class) and module.type == "torch.nn.Sequential":
        return sum(_is_weighted(child) for child in children) > 1
    return False
