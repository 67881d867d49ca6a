"""Weights that an optimizer's step, or a `load_state_dict`, changes between a forward and a backward through it: torch's are in place, and
count as such."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Class, Event, Instance, Tensor, real
from torchlint.rules.base import View

_DEEPEST = 8


def stepped_between(view: View) -> Iterator[tuple[Event, Event, Event]]:
    """Backwards, each with a forward that it goes through, and the step or load that has changed that one's weights since on every path."""
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
    tensors = [part for part in (*backward.parts, *real(backward.subject)) if isinstance(part, Tensor) and part.traits.get("graph") is True]
    return any(part.traits.get("out_of") is forward or _is_one_of_several(part, forward) for part in tensors)


def _is_one_of_several(part: Tensor, forward: Event) -> bool:
    """Whether a tensor is one of those that a forward of the project gave in a tuple, computed by a layer in it that needs its weights:
    what such a forward gives may be its input, too, or come before all layers."""
    made = part.origin
    if part.source != "output" or not isinstance(made, Tensor) or _newest_whole(part) is not forward:
        return False
    return any(
        flow.get("inside") and forward.site in flow.calls and _is_weighted(flow.subject) and any(_has_graph(value) for value in flow.args[:1])
        for flow in made.flows if flow.kind == "forward"
    )


def _newest_whole(value: Tensor) -> Event | None:
    """The last of the models that a value came out of."""
    whole = [flow for flow in value.flows if flow.kind == "forward" and not flow.get("inside")]
    return max(whole, key=lambda flow: flow.serial, default=None)


def _step_between(view: View, forward: Event, backward: Event, backwards: list[Event]) -> Event | None:
    head = forward.loops[-1] if forward.loops else None

    def changes(event: Event) -> bool:
        if event.kind == "load":
            return _overwrites(view, event, forward)
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
    step = steps[0]
    onward, _ = after(step, lambda event: event is backward or event is forward or event.kind == "loop" and event.get("loop") is head)
    if set(step.guards) <= set(forward.guards):
        if len(found) != 1 or ends or onward != [backward]:
            return None
    elif forward in found or backward not in onward:
        return None  # of two that stand under one condition, the second one comes only where the first one came
    if step.kind == "load":
        return step
    # Without gradients a step changes nothing.
    optimizer = real(step.subject)[0]
    filled = [other for other in backwards if other is not backward and other.loops == step.loops and forward.serial < other.serial < step.serial]
    return step if any(view.reaches(other, optimizer) is True for other in filled) else None


def _overwrites(view: View, load: Event, forward: Event) -> bool:
    """Whether `model.load_state_dict(weights)` copies into each of a model's parameters, and says nothing of only some of them, or of putting
    others in their place."""
    call = load.site.node if load.site is not None else None
    whole = isinstance(call, cst.Call) and len(call.args) == 1 and call.args[0].keyword is None
    return whole and isinstance(load.subject, Instance) and id(forward.subject) in view.closure(load.subject)


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
