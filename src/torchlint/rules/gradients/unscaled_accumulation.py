"""104: gradients are accumulated over several batches, and the loss is not divided by how many, or twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import (
    Accumulation,
    accumulated_by_accelerate,
    accumulations,
    length_of,
    length_text,
)

CODE = 104
_ADDED = (
    "`{call}` adds up the gradients of {every} batches, each of a mean: the step is {every} times as large",
    "pass `gradient_accumulation_steps={every}` to the Accelerator, or divide: `{loss} / {every}`",
)
_TWICE = (
    "`{call}` divides the loss by `{every}` itself, after the program has: the gradients are `{every}` times too small",
    "leave out `/ {every}`",
)


def check(view: View) -> Iterator[Report]:
    """An accumulation whose loss is torch's own mean over the batch, with nothing in the file that divides by k; or one that
    divides what Accelerate divides."""
    yield from _undivided(view)
    yield from _divided_twice(view)


def _undivided(view: View) -> Iterator[Report]:
    for found in accumulations(view):
        if not _size_matters(view, found) or length_of(found.backward) != 1 or _scaled(view, found):
            continue
        roles = {
            "loss": view.loss_text(found.backward),
            "every": found.every,
            "call": view.call_text(found.backward.site),
        }
        words = None if found.backward.get("framework") is None else _ADDED
        yield Report(CODE, found.backward.site, roles, [(found.guard, "the step comes only then")], words=words)


def _divided_twice(view: View) -> Iterator[Report]:
    """`accelerator.backward(loss / k)`, of an Accelerator that was told k."""
    for found in (*accumulated_by_accelerate(view), *accumulations(view)):
        length = length_of(found.backward)
        if length in (None, 1) or not _size_matters(view, found):
            continue
        owner = real(found.backward.get("framework"))[0]
        division = _division(found.backward, length, length_text(found.backward))
        if division is not None:
            site, divisor = division
            roles = {"call": view.call_text(found.backward.site), "every": divisor}
            related = [(site, "it is divided here"), (owner.site, "the Accelerator was told the length here")]
            yield Report(CODE, found.backward.site, roles, related, words=_TWICE)


def _division(backward: Event, length: Value | int, written: str):
    """Where the loss was divided by the length that its accelerator was told, and what stands there; None if it was not."""
    alts = real(backward.subject)
    site = getattr(alts[0], "site", None) if len(alts) == 1 else None
    if site is None:
        return None
    node = site.node
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
        divisor = node.right
    elif isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.DivideAssign):
        divisor = node.value
    else:
        return None
    text = site.parsed.text(divisor)
    last = text.rpartition(".")[2]
    same = text == str(length) or bool(written) and (text == written or not isinstance(length, int) and last == written.rpartition(".")[2])
    return (site, text) if same or last == "gradient_accumulation_steps" and "." in text else None


def _size_matters(view: View, found: Accumulation) -> bool:
    """Whether gradients that are k times as large make another step: Adam and its like divide that out again, unless
    the gradients are clipped before."""
    optimizer = found.optimizer
    if any(found.step.loops[-1] in event.loops for event in view.of("clip")):
        return True
    return (
        isinstance(optimizer, Instance)
        and isinstance(optimizer.cls, Ref)
        and optimizer.type in ("torch.optim.SGD", "torch.optim.ASGD")
    )


def _scaled(view: View, found: Accumulation) -> bool:
    """Whether something divides by the number of batches: the loss, its summands, the gradients; or the loss is a
    sum."""
    for event in view.of("loss"):
        given = event.kwargs.get("reduction") or (
            event.subject.kwargs.get("reduction") if isinstance(event.subject, Instance) else None
        )
        if given is not None and not (isinstance(given, Const) and given.value == "mean"):
            return True
    last = re.escape(found.every.rsplit(".", 1)[-1].rstrip("]'\"").split("[")[-1].lstrip("'\""))
    # `scale ** (1 / 3)` and `pixels * (1 / 255)` are of other things.
    divided = re.compile(rf"/=?\s*\(?\s*(?:float\(|int\(|max\()?\s*[\w.\[\]'\"]*\b{last}\b|(?<!\*)\*\s*\(?\s*1(?:\.0*)?\s*/(?!\s*[\d.])")
    texts = {
        id(event.site.parsed.facts): event.site.parsed.facts
        for event in view.run.graph.events
        if event.site is not None
    }
    if any(divided.search("".join(facts.lines)) for facts in texts.values()):
        return True
    optimizer = found.optimizer
    if isinstance(optimizer, Instance) and optimizer.site is not None and "/" in optimizer.site.text():
        return True  # the learning rate may make up for it
    return _divided(found)


def _divided(found: Accumulation) -> bool:
    """Whether the loss was divided or multiplied by anything, in the function that calls backward."""
    here = found.backward.site.parsed
    for value in (*real(found.backward.subject), *found.backward.parts):
        site = getattr(value, "site", None)
        if site is None or site.parsed is not here:
            continue
        operator = getattr(site.node, "operator", None)
        if type(operator).__name__ in ("Divide", "DivideAssign", "Multiply", "MultiplyAssign"):
            return True
    node = found.backward.site.node
    owner = here.text(node.func.value) if hasattr(node.func, "value") else ""
    return "/" in owner or "*" in owner
