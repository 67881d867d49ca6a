"""313: the scores of a classifier go through ReLU or a sigmoid before the loss."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.several_models import goes_with_each, of_some_models

CODE = 313
_RELU = ("relu", "ReLU", "scores below zero are cut off, and so are their gradients")
_SIGMOID = ("sigmoid", "a sigmoid", "scores between 0 and 1 are nearly alike after its softmax, and no class gets far ahead")
# binary_cross_entropy_with_logits after a sigmoid is 303.
_LOSSES = {"cross_entropy": (_RELU, _SIGMOID), "binary_cross_entropy_with_logits": (_RELU,), "nll_loss": (_RELU, _SIGMOID)}
_MOST = 40  # steps back from a loss to its log_softmax: moving, reshaping, choosing


def check(view: View) -> Iterator[Report]:
    """cross_entropy of what ReLU or a sigmoid gave, be it that its log_softmax stands by itself."""
    for event in view.of("loss"):
        alts = real(event.input)
        scores = {id(alt): _scores(event.loss, alt) for alt in alts}
        for act, name, harm in _LOSSES.get(event.loss, ()) if alts else ():
            having = [alt for alt in alts if scores[id(alt)] and all(_gave(value, act) for value in scores[id(alt)])]
            having = of_some_models(having, alts) if len(having) == len(alts) or goes_with_each(event) else []
            if not having:
                continue
            acts = [value.sites["act"] for alt in having for value in scores[id(alt)] if "act" in value.sites]
            related = [(site, f"{name} is applied here") for site in {id(site.node): site for site in acts}.values()]
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "act": name, "harm": harm}, related)


def _gave(value: Value, act: str) -> bool:
    return isinstance(value, Tensor) and value.traits.get("act") == act


def _scores(loss: str, value: Value) -> list[Value]:
    """What a loss takes the softmax of: for nll_loss, what its log_softmax was given, and so for a cross_entropy that is given one's
    output, as the log_softmax of that is the same."""
    softened = loss == "nll_loss" or loss == "cross_entropy" and _gave(value, "log_softmax")
    return [_before_dropout(alt) for alt in (real(_before_log_softmax(value)) if softened else [value])]


def _before_log_softmax(value: Value) -> Value | None:
    act = value.sites.get("act") if isinstance(value, Tensor) and _gave(value, "log_softmax") else None
    for _ in range(_MOST if act is not None else 0):
        before = value.origin
        if not isinstance(before, Tensor) or before.sites.get("act") is not act:
            return before
        value = before
    return None


def _before_dropout(value: Value) -> Value:
    """What a dropout was given: what it lets through is as it was, but for a factor."""
    for _ in range(_MOST):
        if not isinstance(value, Tensor) or "act" in value.traits:
            return value
        made = value.traits.get("out_of")
        if isinstance(value.origin, Tensor) and value.origin.site == value.site:
            value = value.origin  # the same, as the forward of a model around it gives it
        elif isinstance(made, Event) and isinstance(made.subject, Instance) and made.subject.type.startswith("torch.nn.Dropout"):
            given = real(made.args[0]) if made.args else []
            if len(given) != 1:
                return value
            value = given[0]
        else:
            return value
    return value
