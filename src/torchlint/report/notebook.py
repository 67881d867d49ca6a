"""Findings as a table of HTML, for notebooks: one row each."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec

from torchlint.findings import Finding
from torchlint.report import clean, place

_CELL = "style='text-align:left;vertical-align:top'"
_COLOURS = {"error": "#c62828", "warning": "#9a6200", "note": "#0a6a8f"}
_MOST = 50


class Shown:
    """Findings as a notebook shows them: a table, or a line each where only text can be shown."""

    def __init__(self, findings: Sequence[Finding], head: str, notes: Sequence[str] = ()):
        self._findings, self._head, self._notes = findings, head, notes

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self._head, as_lines(self._findings), *self._notes)))

    def _repr_html_(self) -> str:
        return as_table(self._findings, self._head, self._notes)


def as_table(findings: Sequence[Finding], head: str = "", notes: Sequence[str] = ()) -> str:
    """A line of `head`, then code, place, message and how to mend it; at most 50 rows, and how many more there are.

    Everything that comes from a program is escaped.
    """
    rows = [
        f"<tr><td {_CELL}><b style='color:{_COLOURS.get(one.severity.value, 'inherit')}'>{escape(one.code)}</b></td>"
        f"<td {_CELL}><span style='white-space:nowrap'>{escape(clean(_place(one)))}</span></td><td {_CELL}>{escape(clean(one.message))}"
        + (f"<br><span style='opacity:.7'>{escape(clean(one.help))}</span>" if one.help else "") + "</td></tr>"
        for one in findings[:_MOST]
    ]
    more = f"<tr><td></td><td></td><td {_CELL}>and {len(findings) - _MOST} more</td></tr>" if len(findings) > _MOST else ""
    table = f"<table>{''.join(rows)}{more}</table>" if rows else ""
    said = "".join(f"<div>{escape(clean(note))}</div>" for note in notes)
    return f"{f'<div><b>{escape(clean(head))}</b></div>' if head else ''}{table}{said}"


def as_lines(findings: Sequence[Finding]) -> str:
    """One line a finding."""
    return "\n".join(clean(f"{one.code} {_place(one)}: {one.message}") for one in findings)


def _place(finding: Finding) -> str:
    return place(msgspec.structs.replace(finding.location, end_row=None, end_column=None))
