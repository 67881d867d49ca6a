"""Whether what an evaluation computes has a graph for certain, and one that nothing goes backward through."""

from __future__ import annotations

from torchlint.dryrun.values import TRUE, Event, Opaque, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.arithmetic_on_losses import computed_from
from torchlint.rules.shared.callers import chosen_without_graph, may_be_without_graph
from torchlint.rules.shared.frozen import frozen_by, frozen_one_by_one, is_off_at, switches
from torchlint.rules.shared.gradient_wanted import gradient_wanted, has_nothing_to_learn
from torchlint.rules.shared.graph_uses import graph_may_be_used
from torchlint.rules.shared.held_out import LOSS, measures
from torchlint.rules.shared.readouts import is_loss, read_out, without_graph

_FIRST_WITH_NO_GRAD = (0, 4)


def before_no_grad(view: View) -> bool:
    """Whether the project's torch is from the time when an input that is `volatile` switched gradients off."""
    return view.torch_version is not None and view.torch_version < _FIRST_WITH_NO_GRAD


def may_be_off(view: View, event: Event) -> bool:
    """Whether something switches gradients off for a forward: for its weights, for the whole program, or in who calls it."""
    made = switches(view)
    if frozen_by(view, event.subject, made) is not None or is_off_at(view, event, made) or may_be_without_graph(view, event):
        return True
    return _may_be_off_inside(view, event)


def _may_be_off_inside(view: View, event: Event) -> bool:
    """Whether a forward switches gradients off itself, for all layers that it comes to; or may, where it cannot be seen."""
    way = (*event.calls, event.site)
    inner = [other for other in view.of("forward") if other.calls[: len(way)] == way]
    return all(other.grad is False for other in inner) if inner else chosen_without_graph(view, event)


def evaluated_with_graph(view: View, event: Event, value: Value) -> Event | None:
    """The forward of an evaluation, with gradients on, that gave the loss which an event of the same loop adds up or keeps."""
    alts = real(value)
    if before_no_grad(view):
        return None
    if not alts or not all(isinstance(alt, Opaque) and not without_graph(alt) and _is_of_a_loss(alt) for alt in alts):
        return None
    for flow in sorted(frozenset.intersection(*(alt.flows for alt in alts)), key=lambda flow: flow.serial):
        if flow.kind == "forward" and flow.loops and event.loops and flow.loops[-1] is event.loops[-1] and _in_vain(view, flow):
            return flow
    return None


def _is_of_a_loss(value: Opaque) -> bool:
    """Whether a value is a loss, or arithmetic on one: `criterion(y_hat, y) * len(x)`; or one that is written out, by its name."""
    written_out = isinstance(value, Tensor) and value.traits.get("graph") is True and bool(LOSS.search(value.name or ""))
    return written_out or is_loss(value) or any(is_loss(part) and computed_from(value, part) for part in value.parts)


def _in_vain(view: View, event: Event) -> bool:
    """Whether a forward evaluates, by its mode or by what its data are called, and its graph is none that anybody asks for."""
    evaluates = event.mode is False and event.mode_site is not None or measures(view, event)
    if not evaluates or event.grad is not True or event.get("inside"):
        return False
    if event.get("frozen") is TRUE or frozen_one_by_one(view, event) or has_nothing_to_learn(view, event.subject):
        return False
    if may_be_off(view, event):
        return False
    return not gradient_wanted(view, event, shown=False) and read_out(view, event) and not graph_may_be_used(view, event)
