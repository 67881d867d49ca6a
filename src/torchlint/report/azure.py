"""Logging commands of Azure Pipelines: what it puts among a run's errors and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding, Severity
from torchlint.report import Context, Note, clean


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print one logging command a finding. Azure knows errors and warnings alone, and no cells: the text names these."""
    for finding in findings:
        at = finding.location
        properties = {"type": "error" if finding.severity is Severity.ERROR else "warning", "sourcepath": at.filename}
        if at.cell is None:
            properties |= {"linenumber": str(at.row), "columnnumber": str(at.column)}
        where = "" if at.cell is None else f"cell {at.cell}, line {at.row}: "
        out.write(_issue({**properties, "code": finding.code}, f"{where}{finding.message}"))
    for problem in context.problems:
        out.write(_of_note("error", problem))
    for note in context.notes:
        out.write(_of_note("warning", note))


def _of_note(kind: str, note: Note) -> str:
    properties = {"type": kind}
    if note.location is not None:
        properties["sourcepath"] = note.location.filename
        if note.location.cell is None:
            properties["linenumber"] = str(note.location.row)
    return _issue({**properties, "code": note.code}, note.message)


def _issue(properties: dict[str, str], text: str) -> str:
    told = "".join(f"{key}={_property(value)};" for key, value in properties.items())
    return f"##vso[task.logissue {told}]{_data(text)}\n"


def _data(text: str) -> str:
    return clean(text.replace("\n", " ").replace("%", "%AZP25"))


def _property(text: str) -> str:
    return _data(text).replace(";", "%3B").replace("]", "%5D")
