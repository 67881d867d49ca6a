"""One line a finding: what editors and `grep` want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, Note, clean, place


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print `path:row:column: code message` for each finding, with [*] before the message where --fix mends it."""
    for finding in findings:
        out.write(f"{place(finding.location)}: {said(finding, context)}\n")
    for note in () if context.aside else context.told:
        out.write(line_of(note))


def said(finding: Finding, context: Context) -> str:
    """Code and message of a finding, with the mark of those that can be mended."""
    mark = "[*] " if context.is_fixable(finding) else ""
    return f"{finding.code} {mark}{clean(finding.message)}"


def line_of(note: Note) -> str:
    """The line that tells of a problem or note where findings are lines."""
    where = "" if note.location is None else f"{place(note.location)}: "
    return f"{where}{note.code} {clean(note.message)}\n"
