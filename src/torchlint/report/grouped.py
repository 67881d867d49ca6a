"""One line a finding, under the name of the file that it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, path
from torchlint.report.concise import line_of, said


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print each file's name, and below it `row:column code message` for each finding."""
    for filename, group in groupby(findings, key=lambda finding: finding.location.filename):
        out.write(f"{path(filename)}:\n")
        members = [(_place(finding), finding) for finding in group]
        width = max(len(at) for at, _ in members)
        for at, finding in members:
            out.write(f"  {at:<{width}} {said(finding, context)}\n")
        out.write("\n")
    for note in () if context.aside else context.told:
        out.write(line_of(note))


def _place(finding: Finding) -> str:
    at = finding.location
    return f"{'' if at.cell is None else f'cell {at.cell}:'}{at.row}:{at.column}"
