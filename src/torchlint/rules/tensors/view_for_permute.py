"""408: view where dimensions were to change places."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.reached import may_be_dead

CODE = 408
_FROM_ONE = re.compile(r"\[[\s:,.]*1\s*:")


def check(view: View) -> Iterator[Report]:
    """`B, C, H, W = x.shape; x.view(B, H * W, C)`."""
    yield from once(
        Report(CODE, event.site, {"call": view.call_text(event.site), "order": ", ".join(map(str, event.order))})
        for event in view.of("arranged") if not may_be_dead(event) and not _cut_off(event) and not _dropped(event)
    )


def _dropped(event: Event) -> bool:
    """Whether nothing is done with the result: then nothing is mixed up, either."""
    return isinstance(next(event.site.parsed.around(event.site.node), None), cst.Expr)


def _cut_off(event: Event) -> bool:
    """Whether the first row or column goes directly after: relative attention shifts its scores so, on purpose."""
    row = event.site.location().end_row
    return any(_FROM_ONE.search(line) for line in event.site.parsed.facts.lines[row - 1 : row + 3])
