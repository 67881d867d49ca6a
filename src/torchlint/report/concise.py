"""One line a finding: what editors and `grep` want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, clean, place


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print `path:row:column: code message` for each finding."""
    for finding in findings:
        out.write(f"{place(finding.location)}: {finding.code} {clean(finding.message)}\n")
