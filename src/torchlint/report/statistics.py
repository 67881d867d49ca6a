"""How often each rule was broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding
from torchlint.report import Context, write_json


def write(findings: Sequence[Finding], out: TextIO, context: Context, as_json: bool = False) -> None:
    """Print one line a rule, the most frequent first: count, code, name; or the same as a JSON array."""
    counts = Counter((finding.code, finding.name) for finding in findings)
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if as_json:
        write_json([{"code": code, "name": name, "count": count} for (code, name), count in rows], out)
        return
    width = len(str(rows[0][1])) if rows else 0
    for (code, name), count in rows:
        out.write(f"{count:>{width}}  {code}  {name}\n")
