"""008: predictions of all processes by `gather`, which keeps what was added to fill the last batch."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.protocols import CUTS_DUPLICATES, PREDICTIONS
from torchlint.dryrun.source_text import Site
from torchlint.rules.base import Report, View, once

CODE = 8


def check(view: View) -> Iterator[Report]:
    """`accelerator.gather((predictions, labels))` in an evaluation's loop."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    for event in view.of("gather"):
        node = event.site.node
        if event.name != "gather" or not event.loops or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or not node.args:
            continue
        loop = event.loops[-1]
        if any(loop in backward.loops for backward in view.of("backward")) or not _of_batches(loop.site):
            continue
        given = event.site.parsed.text(node.args[0].value)
        text = "".join(event.site.parsed.facts.lines)
        if not PREDICTIONS.search(given) or CUTS_DUPLICATES.search(text) or not re.search(r"\.eval\(\)", text):
            continue
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "owner": view.owner_text(event, "accelerator")}, [(loop.site, "the last batch of this loader is filled up")])


def _of_batches(site: Site | None) -> bool:
    node = site.node if site is not None else None
    return isinstance(node, cst.For) and site is not None and re.search(r"load|dl\b|batch", site.parsed.text(node.iter)) is not None
