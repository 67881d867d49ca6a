"""310: a loss function is given the target first and the model's output second."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.catalogue.effects import KEEPS
from torchlint.dryrun.values import Event, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import from_data

CODE = 310
_MOST = 20
_PLACES = frozenset({"max", "min", "topk", "sort", "mode", "median", "kthvalue"})
# Where it matters which comes first.
ORDERED = frozenset(
    """cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div ctc_loss multi_margin_loss
    multilabel_margin_loss poisson_nll_loss""".split()
)

# A class has no gradient: what comes out of a model, with its graph, is no target of these.
_OF_CLASSES = frozenset({"cross_entropy", "nll_loss", "binary_cross_entropy_with_logits"})


def check(view: View) -> Iterator[Report]:
    """`criterion(labels, model(inputs))`: data comes first, what the model made of it second."""
    for event in view.of("loss"):
        if event.loss not in ORDERED or event.kwargs.keys() & {"input", "target"}:
            continue
        if _of_model(event.target) and (from_data(event.input) or _of_one_batch(event) or _beside(event)):
            forward = next(iter(_forwards(event)), None)
            related = [(forward.site, "the second argument comes out of this call")] if forward is not None else []
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related)


def _of_model(value: Value | None) -> bool:
    """Whether a value comes out of a model for certain, with its graph."""
    alts = real(value)
    return bool(alts) and all(
        isinstance(alt, Opaque) and alt.flows and (alt.source in ("op", "output", "call") or _chosen(alt)) and _kept(alt)
        for alt in alts
    )


def _chosen(value: Opaque) -> bool:
    """Whether a value is some rows of a model's output, or one of its outputs: no places, as `max` gives."""
    return value.source == "item" and isinstance(value.origin, Opaque) and value.origin.name not in _PLACES


def _of_one_batch(event: Event) -> bool:
    """Whether what comes first was unpacked beside what the model was given: `for x, y in batches`."""
    alts = [_unmoved(alt) for alt in real(event.input)]
    given = [_unmoved(alt) for flow in _forwards(event) for value in flow.get("args", ()) for alt in real(value)]
    return bool(alts) and all(
        _item(alt) and any(_item(other) and other is not alt and other.origin is alt.origin for other in given)
        for alt in alts
    )


def _beside(event: Event) -> bool:
    """Whether what comes first is read from the object that the model's input is read from: `data.y`, `batch["label"]`."""
    if event.loss not in _OF_CLASSES:
        return False
    given = [alt for flow in _forwards(event) for value in (*(flow.get("args") or ()), *(flow.get("kwargs") or {}).values())
             for alt in real(value)]
    wholes = {id(whole) for alt in given for whole in _read_from(alt)}
    return bool(real(event.input)) and all(
        type(alt) is Opaque and not alt.flows and any(id(whole) in wholes for whole in _read_from(alt)[1:]) for alt in real(event.input)
    )


def _read_from(value: Value | None) -> list[Value]:
    """A value and what it is a part of, outermost last, behind what was only shaped, moved or selected."""
    found: list[Value] = []
    while isinstance(value, Opaque) and len(found) < _MOST and not value.flows:
        if value.source in ("item", "attr") or not found:
            found.append(value)
        reads = value.source in ("item", "attr", "op") or value.source == "call" and value.name in KEEPS
        if not reads or value.origin is None:
            break
        value = value.origin
    if isinstance(value, Opaque) and found and value is not found[-1] and not value.flows:
        found.append(value)
    return found


def _item(value: Value | None) -> bool:
    return type(value) is Opaque and value.source == "item" and value.origin is not None and not value.flows


def _unmoved(value: Value | None) -> Value | None:
    while type(value) is Opaque and value.source == "call" and value.name in KEEPS and value.origin is not None:
        value = value.origin
    return value


def _kept(value: Opaque) -> bool:
    if isinstance(value, Tensor):
        return value.traits.get("graph") is not False
    return bool(value.flows)


def _forwards(event: Event) -> list[Event]:
    found = [flow for flow in event.target.flows if flow.kind == "forward" and flow.site is not None]
    return sorted(found, key=lambda flow: flow.site.location().row)
