"""316: an average over batches where the last batch is smaller."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.effects import SHOWS_PROGRESS
from torchlint.dryrun.values import Const, Event, Instance, Opaque, Tensor, Value, number, real
from torchlint.rules.base import Report, View

CODE = 316


def check(view: View) -> Iterator[Report]:
    """`total += loss.item()` for each batch, and then `total / len(loader)`, where the last batch may be smaller."""
    for event in view.of("augment"):
        node = event.site.node
        if event.operator != "Add" or not event.loops or not isinstance(event.target, cst.Name):
            continue
        if not _mean(event.value):
            continue
        loader = _loader(event)
        if loader is None:
            continue
        unit, lines = event.site.parsed.unit, event.site.parsed.facts.lines
        total, over = re.escape(event.target.value), re.escape(loader)
        text = "".join(lines[unit.start - 1 : unit.end])
        if re.search(rf"\b{total}\s*/=?\s*len\(\s*{over}\s*\)", text) and isinstance(node, cst.AugAssign):
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "loader": loader})


def _mean(value: Value | None) -> bool:
    """Whether a value is the number of a loss that is a mean over the batch."""
    alts = real(value)
    return bool(alts) and all(
        isinstance(alt, Opaque)
        and alt.name == "item"
        and isinstance(alt.origin, Tensor)
        and "loss" in alt.origin.traits
        for alt in alts
    )


def _loader(event: Event) -> str | None:
    """What the loader of the innermost loop is called, if its last batch may be smaller."""
    loop = event.loops[-1]
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For) or loop.site.parsed is not event.site.parsed:
        return None
    over, written = node.iter, loop.site.parsed.text
    while isinstance(over, cst.Call) and over.args and _shows(written(over.func).rsplit(".", 1)[-1]):
        over = over.args[0].value
    value = loop.over
    while not isinstance(value, Instance) and getattr(value, "base", None) is not None:
        value = value.base
    if isinstance(value, Instance) and value.kind == "loader":
        dropped = value.kwargs.get("drop_last")
        whole = isinstance(dropped, Const) and dropped.value is False or dropped is None
        size = value.arg(1, "batch_size")
        whole = whole and size is not None and number(size) != 1
        return written(over) if whole and not value.kwargs.keys() & {"**", "batch_sampler"} else None
    return None


def _shows(name: str) -> bool:
    """Whether a function only counts, or shows how far the loop has come."""
    return name == "enumerate" or bool(SHOWS_PROGRESS.search(name))
