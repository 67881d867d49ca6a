"""What was told of a text, carried over to one that does not parse for now: somebody is in the middle of a line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from attrs import evolve
from lsprotocol import types as lsp


def carried(
    told: Sequence[lsp.Diagnostic], old: Sequence[str], new: Sequence[str]
) -> Iterator[lsp.Diagnostic]:
    """The diagnostics whose rows are still there, where they are now.

    Args:
        told: what was told of the old text.
        old: its rows.
        new: the rows of the new one.
    """
    now = {}
    for first, begin, count in difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        now.update((first + step, begin + step) for step in range(count))
    for one in told:
        rows = range(one.range.start.line, one.range.end.line + 1)
        if all(row in now and now[row] - row == now.get(rows[0], 0) - rows[0] for row in rows):
            ends = (lsp.Position(now[at.line], at.character) for at in (one.range.start, one.range.end))
            # Other lines that matter may have moved, too, and other files have not been looked at.
            yield evolve(one, range=lsp.Range(*ends), related_information=None)
