"""An object a finding, and after these an object a problem or note, each on a line of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, write_json
from torchlint.report.json import objects


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print the findings as lines of JSON."""
    for item in objects(findings, context):
        write_json(item, out, indent=0)
