"""An array with an object a finding, and after these an object a problem or note."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from torchlint.findings import Finding, Location
from torchlint.report import Context, Note, fingerprints, write_json


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print the findings as JSON."""
    write_json(objects(findings, context), out)


def objects(findings: Sequence[Finding], context: Context) -> list[dict[str, Any]]:
    """Findings, problems and notes in plain types."""
    told = [as_object(finding, print) for finding, print in zip(findings, fingerprints(findings, context))]
    problems = [_note(problem, "error") for problem in context.problems]
    return [*told, *problems, *(_note(note, "note") for note in context.notes)]


def _note(note: Note, severity: str) -> dict[str, Any]:
    """A problem or note in plain types, with all that readers of findings ask for."""
    at = note.location or Location("", 1)
    return {
        "code": note.code,
        "name": note.code,
        "message": note.message,
        "help": "",
        "filename": at.filename,
        **_span(at),
        "group": "",
        "severity": severity,
        "url": "",
        "fingerprint": "",
        "related": [],
    }


def as_object(finding: Finding, fingerprint: str) -> dict[str, Any]:
    """The finding in plain types, as it is printed. What only torchsan knows is left out where it is not set."""
    item: dict[str, Any] = {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "help": finding.help,
        "filename": finding.location.filename,
        **_span(finding.location),
        "group": finding.group,
        "severity": finding.severity.value,
        "url": finding.url,
        "fingerprint": fingerprint,
        "related": [
            {"message": item.message, "filename": item.location.filename, **_span(item.location)}
            for item in finding.related
        ],
    }
    if finding.fix is not None:
        item["fix"] = {
            "applicability": finding.fix.applicability,
            "message": finding.fix.message,
            "edits": [
                {"content": edit.content, "filename": edit.location.filename, **_span(edit.location)}
                for edit in finding.fix.edits
            ],
        }
    if finding.step is not None:
        item["step"] = finding.step
    if finding.ranks:
        item["ranks"] = list(finding.ranks)
    if finding.count != 1:
        item["count"] = finding.count
    if finding.details:
        item["details"] = finding.details
    return item


def _span(at: Location) -> dict[str, Any]:
    return {
        "cell": at.cell,
        "location": {"row": at.row, "column": at.column},
        "end_location": {"row": at.end_row or at.row, "column": at.end_column or at.column},
    }
