"""003: the logits of a causal model are compared with the very tokens that it was given, place by place."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.causal_models import inputs_of, reads_on, shifts_labels

CODE = 3
_LOSSES = frozenset({"cross_entropy", "nll_loss"})
_SAME_PLACES = frozenset("view reshape flatten contiguous to cuda cpu long float clone detach".split())
_MOST = 8  # methods called one on another


def check(view: View) -> Iterator[Report]:
    """`cross_entropy(logits.view(-1, V), ids.view(-1))` where `logits` is what the model gave for `ids`."""
    for event in view.of("loss"):
        if event.get("loss") not in _LOSSES:
            continue
        given, target = event.get("input"), event.get("target")
        out = _unmoved(given)
        forward = _forward(view, given)
        wanted = _unmoved(target)
        if out is None or wanted is None or forward is None or not _is_logits(out, forward):
            continue
        ids = inputs_of(forward)
        if ids is not None and any(wanted is _unmoved(alt) for alt in real(ids)) and _ids(wanted):
            roles = {"loss": event.get("loss"), "model": view.owner_text(forward, "model")}
            yield Report(CODE, event.site, roles, [(forward.site, "these are the tokens that the model is given")])


def _forward(view: View, value: Value | None) -> Event | None:
    """The call of a model that reads from left to right, that a value came out of."""
    outer = [event for event in value.flows if event.kind == "forward" and not event.get("inside")] if value is not None else []
    return outer[0] if len(outer) == 1 and (shifts_labels(outer[0].subject) or reads_on(view, outer[0].subject)) else None


def _unmoved(value: Value | None) -> Value | None:
    """What a value was before it got another shape: the same numbers in the same order. None where it is a part of something."""
    alts = real(value)
    alt = alts[0] if len(alts) == 1 else None
    for _ in range(_MOST):
        node = alt.site.node if isinstance(alt, Opaque) and alt.site is not None else None
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _SAME_PLACES:
            return alt
        alts = real(alt.origin)
        if len(alts) != 1:
            return None
        alt = alts[0]
    return None


def _is_logits(value: Value, forward: Event) -> bool:
    """Whether a value is all that the model gave for each place: its output, or `outputs.logits`, and no part of that."""
    if isinstance(value, Tensor):
        return value.traits.get("out_of") is forward
    return isinstance(value, Opaque) and value.name == "logits" and value.source == "attr"


def _ids(value: Value) -> bool:
    """Whether nothing but the name of a batch's tokens was read: no slice."""
    node = value.site.node if isinstance(value, Opaque) and value.site is not None else None
    return not isinstance(node, cst.Subscript) or all(isinstance(item.slice, cst.Index) for item in node.slice)
