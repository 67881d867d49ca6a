"""319: a loss over one class."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.torch_api.shapes import Shape
from torchlint.dryrun.values import Event, Instance, Tensor, Value, number, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.loss_shapes import CLASSES, certain, is_column, of_batch

CODE = 319
_FUNCTIONS = frozenset({"torch.nn.functional.softmax", "torch.nn.functional.log_softmax", "torch.softmax", "torch.log_softmax"})
_LAYERS = frozenset({"torch.nn.Softmax", "torch.nn.LogSoftmax"})
CALLS = _FUNCTIONS | _LAYERS
# These refuse images that are no batch, by the number of dimensions that stand behind the first of theirs.
_OF_BATCHES = {3: "torch.nn.BatchNorm2d", 4: "torch.nn.BatchNorm3d"}
_CONSTANT = (
    "a softmax over a dimension of size 1 is 1 whatever goes in: `{call}` never changes, and every gradient is zero",
    "give the last layer as many outputs as there are classes, or take `binary_cross_entropy_with_logits` for one output",
)


def check(view: View) -> Iterator[Report]:
    """`F.cross_entropy(model(x), y)` where the model ends in one value; any loss of a softmax over it."""
    yield from once(report for event in view.of("loss") if _one_value(view, event) for report in _reports(view, event))


def _one_value(view: View, event: Event) -> bool:
    known = certain(event)
    if known is None:
        return False
    value = real(event.input)[0]
    return is_column(known[0], value, known[1].dims[0] if known[1].rank == 1 else None) or _one_map(view, event, known[0], value)


def _one_map(view: View, event: Event, shape: Shape, value: Value) -> bool:
    """Whether cross_entropy is given (N, 1, ...): one map of scores for each image. Of (..., 1, H, W) that is so where it is known to be
    of a batch."""
    if event.loss != "cross_entropy" or len(shape.dims) < 3:
        return False
    if shape.rank is not None:
        return shape.dims[1] == 1
    return shape.dims[0] == 1 and (of_batch(value) or _normalized(view, value, len(shape.dims)))


def _normalized(view: View, value: Value, behind: int) -> bool:
    """Whether a value came out of a model that has run a layer which takes batches alone."""
    models = {flow.site for flow in value.flows if flow.kind == "forward"} if isinstance(value, Tensor) else set()
    layers = (event for event in view.of("forward") if isinstance(event.subject, Instance) and event.subject.type == _OF_BATCHES.get(behind))
    return any(layer.site in models or not models.isdisjoint(layer.calls) for layer in layers)


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
