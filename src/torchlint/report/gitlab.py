"""GitLab's code quality report."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, TextIO

from torchlint.findings import Finding, Location, Severity
from torchlint.report import Context, Note, fingerprints, write_json

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print an array with an object a finding. In a notebook the row within the cell means nothing to GitLab: the text names
    the cell."""
    told = [
        _issue(f"{finding.code}: {finding.message}", finding.code, print, _SEVERITIES[finding.severity], finding.location)
        for finding, print in zip(findings, fingerprints(findings, context))
    ]
    told += [_of_note(problem, "blocker") for problem in context.problems]
    write_json([*told, *(_of_note(note, "info") for note in context.notes)], out)


def _of_note(note: Note, severity: str) -> dict[str, Any]:
    return _issue(note.message, note.code, hashlib.sha256(note.line.encode()).hexdigest()[:16], severity, note.location)


def _issue(text: str, code: str, fingerprint: str, severity: str, at: Location | None) -> dict[str, Any]:
    at = at or Location("", 1)
    begin, end = {"line": at.row, "column": at.column}, {"line": at.end_row or at.row, "column": at.end_column or at.column}
    if at.cell is not None:
        text, begin, end = f"cell {at.cell}, line {at.row}: {text}", {"line": 1, "column": 1}, {"line": 1, "column": 1}
    return {
        "description": text, "check_name": code, "fingerprint": fingerprint, "severity": severity,
        "location": {"path": at.filename, "positions": {"begin": begin, "end": end}},
    }
