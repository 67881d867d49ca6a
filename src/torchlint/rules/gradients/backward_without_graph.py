"""108: backward of a loss that was computed while autograd was off."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View

CODE = 108
# What asks whether there is a graph, or whether this is training, in a condition.
_ASKS = re.compile(r"\.requires_grad\b|\.grad_fn\b|is_grad_enabled|\.training\b")


def check(view: View) -> Iterator[Report]:
    """Forward and backward under no_grad, or only the forward and nothing else for the loss to be computed from."""
    for backward in view.of("backward"):
        forwards = sorted((event for event in backward.flows if event.kind == "forward"), key=lambda event: event.serial)
        if any(_ASKS.search(guard.site.text()) for guard in backward.guards):
            continue
        if backward.guards and _has_one_in_another_call(view, backward):
            continue  # what is asked tells the calls apart
        if not forwards or getattr(backward.site.node, "args", ()) or backward.get("framework") is not None:
            continue
        if any(event.get("grad") is not False or not _within(event) for event in forwards) or any(
            context.kind == "unknown" for context in backward.contexts
        ):
            continue
        if (backward.grad_on is not False or not _within(backward)) and not _only_from(view, backward):
            continue
        first = next((event for event in view.of("forward") if event in backward.flows), forwards[0])
        site = first.get("grad_site")
        roles = {"loss": view.owner_text(backward, "loss"), "call": view.call_text(backward.site)}
        related = [(first.site, "this is computed without a graph")]
        if site is not None:
            related.append((site, "because gradients are off from here on"))
        yield Report(CODE, backward.site, roles, related)


def _has_one_in_another_call(view: View, backward: Event) -> bool:
    """Whether the same line goes backward through a graph where its function is called from elsewhere."""
    others = [event for event in view.of("backward") if event.site == backward.site and event is not backward]
    return any(flow.kind == "forward" and flow.get("grad") is not False for event in others for flow in event.flows)


def _within(forward: Event) -> bool:
    """Whether a forward stands in a block or function that switches gradients off: a switch for the whole program may
    be turned back by code that is run at another time than it seems."""
    return any(context.kind == "grad" and context.value is False for context in forward.contexts)


def _only_from(view: View, backward: Event) -> bool:
    """Whether the loss comes out of torch's own loss function, whose input has no graph and whose target is data."""
    losses = [event for event in view.of("loss") if event.input is not None and event.target is not None]
    for alt in real(backward.subject):
        if not isinstance(alt, Tensor) or "loss" not in alt.traits or alt.site is None:
            return False
        own = [event for event in losses if event.site == alt.site]
        if not own or not all(_without_graph(event.input) and _data(event.target) for event in own):
            return False
    return bool(real(backward.subject))


def _without_graph(value: Value) -> bool:
    return all(
        isinstance(alt, Opaque)
        and alt.flows
        and all(event.get("grad") is False for event in alt.flows)
        and not any(isinstance(part, Tensor) and part.traits.get("leaf") for part in alt.parts)
        and _of_torch_alone(alt)
        for alt in real(value)
    )


def _of_torch_alone(value: Opaque) -> bool:
    """Whether what a forward without a graph gave went only through what has no parameters: a call that is not seen, or
    an attribute that is not known, may have some."""
    reached = {value, *value.parts}
    given = [part for part in reached if isinstance(part, Opaque) and _forward_gave(part)]
    before = {part for result in given for part in (result, *result.parts)}
    return all(_has_none(part) for part in reached - before)


def _forward_gave(value: Opaque) -> bool:
    return value.site is not None and any(event.site == value.site for event in value.flows)


def _has_none(part: Value) -> bool:
    if isinstance(part, Tensor):
        return not part.traits.get("param")
    return not isinstance(part, Opaque) or bool(part.tags & {"batch", "batch?"}) or part.source in ("op", "item", "made")


def _data(value: Value) -> bool:
    """Whether a value is a batch's, or was computed without a graph as well."""
    alts = real(value)
    return bool(alts) and all(
        isinstance(alt, Opaque) and (bool(alt.tags & {"batch", "batch?"}) or bool(alt.flows) and _without_graph(alt))
        for alt in alts
    )
