"""One line a finding, as pylint writes them with --output-format=parseable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, clean, path


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print `path:row: [code] message` for each finding; the text names a notebook's cell."""
    for finding in findings:
        at = finding.location
        cell = "" if at.cell is None else f"cell {at.cell}, line {at.row}: "
        row = at.row if at.cell is None else 1
        out.write(f"{path(at.filename)}:{row}: [{finding.code}] {clean(f'{cell}{finding.message}')}\n")
    for note in context.told:
        at = note.location
        where = "" if at is None else f"{path(at.filename)}:{at.row if at.cell is None else 1}: "
        out.write(f"{where}[{note.code}] {clean(note.message)}\n")
