"""319: a loss over one class."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, Tensor, number, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.loss_shapes import CLASSES, certain, is_column

CODE = 319
_FUNCTIONS = frozenset({"torch.nn.functional.softmax", "torch.nn.functional.log_softmax", "torch.softmax", "torch.log_softmax"})
_LAYERS = frozenset({"torch.nn.Softmax", "torch.nn.LogSoftmax"})
CALLS = _FUNCTIONS | _LAYERS
_CONSTANT = (
    "a softmax over a dimension of size 1 is 1 whatever goes in: `{call}` never changes, and every gradient is zero",
    "give the last layer as many outputs as there are classes, or take `binary_cross_entropy_with_logits` for one output",
)


def check(view: View) -> Iterator[Report]:
    """`F.cross_entropy(model(x), y)` where the model ends in one value; any loss of a softmax over it."""
    yield from once(report for event in view.of("loss") if _one_value(event) for report in _reports(view, event))


def _one_value(event: Event) -> bool:
    known = certain(event)
    return known is not None and is_column(known[0], real(event.input)[0], known[1].dims[0] if known[1].rank == 1 else None)


def _reports(view: View, event: Event) -> Iterator[Report]:
    values = [value for value in real(event.input) if isinstance(value, Tensor)]
    if len(values) < len(real(event.input)):
        return
    if event.loss in CLASSES:
        yield Report(CODE, event.site, {"loss": event.loss}, _related(event, values[0], "shape", "this gives one value for each sample"))
    elif all(value.traits.get("act") in ("softmax", "log_softmax") for value in values) and _over_columns(view):
        related = _related(event, values[0], "act", "softmax is applied here")
        yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related, words=_CONSTANT)


def _over_columns(view: View) -> bool:
    """Whether each softmax of the run goes over the last dimension of two, as far as they say."""
    calls = [event for event in view.of("call") if event.name in CALLS]
    given = [event.kwargs.get("dim", next(iter(event.args[event.name in _FUNCTIONS :]), None)) for event in calls]
    return bool(given) and all(number(dim) in (1, -1) for dim in given)


def _related(event: Event, value: Tensor, trait: str, why: str) -> list:
    site = value.sites.get(trait, value.site)
    return [(site, why)] if site is not None and site.node is not event.site.node else []
