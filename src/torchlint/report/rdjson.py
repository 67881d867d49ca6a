"""Reviewdog's diagnostics, with fixes as suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from torchlint.addresses import SITE
from torchlint.findings import Finding, Location, Severity
from torchlint.report import Context, Note, write_json

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print one DiagnosticResult."""
    told = [_diagnostic(finding, context) for finding in findings]
    told += [_of_note(problem, "ERROR") for problem in context.problems if problem.location is not None]
    told += [_of_note(note, "INFO") for note in context.notes if note.location is not None]
    source = {"name": context.tool, **({"url": SITE} if SITE else {})}
    write_json({"source": source, "severity": "WARNING", "diagnostics": told}, out)


def _diagnostic(finding: Finding, context: Context) -> dict[str, Any]:
    at, cell = finding.location, finding.location.cell
    text = finding.message if cell is None else f"cell {cell}, line {at.row}: {finding.message}"
    item: dict[str, Any] = {
        "message": f"{text}\n{finding.help}" if finding.help else text,
        "location": _location(at, context), "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code, **({"url": finding.url} if finding.url else {})},
    }
    related = [{"message": one.message, "location": _location(one.location, context)} for one in finding.related]
    if related:
        item["relatedLocations"] = related
    # A suggestion is one edit of the finding's own file, and no cell: several would be taken one without the other.
    edits = finding.fix.edits if finding.fix is not None and cell is None else ()
    if len(edits) == 1 and edits[0].location.filename == at.filename:
        item["suggestions"] = [{"range": _range(edits[0].location, context), "text": edits[0].content}]
    return item


def _of_note(note: Note, severity: str) -> dict[str, Any]:
    at = note.location or Location("", 1)
    where: dict[str, Any] = {"path": at.filename}
    if at.cell is None:
        where["range"] = {"start": {"line": at.row}}
    return {"message": note.message, "location": where, "severity": severity, "code": {"value": note.code}}


def _location(at: Location, context: Context) -> dict[str, Any]:
    return {"path": at.filename} if at.cell is not None else {"path": at.filename, "range": _range(at, context)}


def _range(at: Location, context: Context) -> dict[str, Any]:
    end_row = at.end_row or at.row
    end = Location(at.filename, end_row, at.end_column or at.column)
    return {"start": _point(at, context), "end": _point(end, context)}


def _point(at: Location, context: Context) -> dict[str, int]:
    """Columns are counted in bytes of UTF-8 there."""
    line = context.lines(Location(at.filename, at.row))
    column = at.column if line is None else len(line[: at.column - 1].encode("utf-8", "replace")) + 1
    return {"line": at.row, "column": column}
