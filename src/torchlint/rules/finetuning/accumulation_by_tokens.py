"""007: token losses of micro-batches, each a mean over its own tokens, averaged as if each had as many."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site, unit_text
from torchlint.dryrun.values import Const, Event, Instance, Opaque, Tensor, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import Accumulation, accumulated_by_accelerate, accumulations, length_of

CODE = 7
_COUNTS = re.compile(r"num_items|n_?tok|num_?tok|tok\w*_count|count\w*_tok|valid_tok|total_tok")
_BY_ITSELF = re.compile(r"reduction\s*=\s*[\"'](?:sum|none)[\"']")
_VOID = 255  # of the pixels that a segmentation leaves out: of each image about as many
_LEFT_OUT = re.compile(r"=\s*-100\b|,\s*-100\s*\)")
_FIRST_NAME = re.compile(r"[A-Za-z_]\w*")
_BY_HAND = "this is divided by the targets that count, in each batch another number"
# Accelerate divides by the number of batches once more.
_UNDER_ACCELERATE = (
    "`{call}` averages over {every} batches, and each loss is a mean over its own tokens: a token of a short batch counts for more",
    "sum the losses (`reduction=\"sum\"`), and send each back times {every}, divided by the tokens of all {every} batches together",
)


def check(view: View) -> Iterator[Report]:
    """`loss = criterion(...) / k; loss.backward()`, where the criterion leaves out padding; or Accelerate divides."""
    told = set()  # a loss goes backward in two ways where apex may scale it
    for found in (*accumulations(view), *accumulated_by_accelerate(view)):
        hosted = found.backward.get("framework") is not None
        divided = length_of(found.backward) not in (None, 1) if hosted else _division(found) is not None
        if not divided or any(_COUNTS.search("".join(facts.lines)) for facts in _texts(found)):
            continue
        left_out = _left_out(view, found)
        if left_out is None or left_out[1] != _BY_HAND and any(_BY_ITSELF.search("".join(facts.lines)) for facts in _texts(found)):
            continue
        where = (left_out[0].location(), found.guard.location())
        if where in told:
            continue
        told.add(where)
        roles = {"call": view.call_text(found.backward.site), "every": found.every, "loss": view.loss_text(found.backward)}
        guard = (found.guard, f"this adds up {found.every} batches" if hosted else "the step comes only then")
        yield Report(CODE, found.backward.site, roles, [left_out, guard], words=_UNDER_ACCELERATE if hosted else None)


def _texts(found: Accumulation):
    return [site.parsed.facts for site in (found.backward.site, found.step.site) if site is not None]


def _division(found: Accumulation) -> Site | None:
    """Where the loss is divided by the number of batches."""
    last = found.every.rsplit(".", 1)[-1]
    node = found.backward.site.node
    owner = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    alts = real(found.backward.subject)
    sites = [alts[0].site] if len(alts) == 1 and isinstance(alts[0], Opaque) and alts[0].site is not None else []
    texts = [site.text() for site in sites] + ([found.backward.site.parsed.text(owner)] if owner is not None else [])
    divided = re.compile(rf"/=?\s*(?:float\(|int\()?\s*[\w.]*\b{re.escape(last)}\)?\)?\s*$")
    return found.backward.site if any(divided.search(text) for text in texts) else None


def _left_out(view: View, found: Accumulation) -> tuple[Site, str] | None:
    """Where it stands that some targets do not count: an `ignore_index` of one's own, or labels that are set to -100."""
    loop = found.step.loops[-1]
    losses = {id(part.site.node) for part in _of(found.backward) if isinstance(part, Tensor) and part.traits.get("loss") and part.site}
    for event in view.of("loss"):
        if event.loss not in ("cross_entropy", "nll_loss") or loop not in event.loops or id(event.site.node) not in losses:
            continue
        ignored, reduction = _given(event, "ignore_index"), _given(event, "reduction")
        if isinstance(reduction, Const) and reduction.value == "sum" and ignored is not None and _by_its_count(event):
            return event.site, _BY_HAND
        if reduction is not None and not (isinstance(reduction, Const) and reduction.value == "mean"):
            return None
        if ignored is not None and number(ignored) != _VOID and _given(event, "weight") is None:
            return event.site, "this is a mean over the targets that count, in each batch another number"
    own = [part for part in _of(found.backward) if type(part) is Opaque and part.source == "attr" and part.name == "loss"]
    if not own or view.of("loss"):
        return None
    unit, lines = found.backward.site.parsed.unit, found.backward.site.parsed.facts.lines
    text = "".join(lines[unit.start - 1 : unit.end])
    if "labels" in text and _LEFT_OUT.search(text) and isinstance(found.backward.subject, Opaque):
        return found.backward.subject.site or found.backward.site, "the model's own loss is a mean over the labels that are not -100, in each batch another number"
    return None


def _by_its_count(event: Event) -> bool:
    """Whether a sum over targets is divided, in the function that makes it, by how many of these very targets are no padding: the mean
    by hand. `n = labels.ne(pad).sum(); loss = criterion(scores, labels) / n`"""
    parsed, call = event.site.parsed, event.site.node
    if not isinstance(call, cst.Call) or len(call.args) < 2:
        return False
    labels = _FIRST_NAME.match(parsed.text(call.args[1].value))
    if labels is None:
        return False
    text = unit_text(parsed.facts, parsed.unit)
    counted = rf"[^\n=]*\b{labels[0]}(?:\.ne\(|\s*!=)[^\n]*\bsum\("
    names = [found[1] for found in re.finditer(rf"(?m)^\s*(\w+)\s*=(?!=){counted}", text)]
    divisors = "|".join([counted, *(rf"{name}\b" for name in names)])
    return re.search(rf"\S\s*/=?\s*\(?(?:{divisors})", text) is not None


def _of(backward: Event) -> list[Value]:
    return [*real(backward.subject), *backward.parts]


def _given(event: Event, name: str) -> Value | None:
    given = event.kwargs.get(name)
    return event.subject.kwargs.get(name) if given is None and isinstance(event.subject, Instance) else given
