"""104: gradients are accumulated over several batches, and the loss is not divided by how many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance, Ref, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import Accumulation, accumulations

CODE = 104


def check(view: View) -> Iterator[Report]:
    """An accumulation whose loss is torch's own mean over the batch, with nothing in the file that divides by k."""
    for found in accumulations(view):
        if not _size_matters(view, found) or _scaled(view, found):
            continue
        roles = {
            "loss": view.owner_text(found.backward, "loss"),
            "every": found.every,
            "call": view.call_text(found.backward.site),
        }
        yield Report(CODE, found.backward.site, roles, [(found.guard, "the step comes only then")])


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
    divided = re.compile(rf"/=?\s*\(?\s*(?:float\(|int\(|max\()?\s*[\w.\[\]'\"]*\b{last}\b|\*\s*\(?\s*1(?:\.0*)?\s*/")
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
