"""`# noqa` comments written behind statements that have findings."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

from torchlint.files.parse import parse_source
from torchlint.files.source import Source
from torchlint.findings import Edit, Finding, Location
from torchlint.fixes.edits import apply

_CODES = re.compile(r"#\s*noqa\s*:\s*(?P<codes>[A-Za-z]+[0-9]+(?:[\s,]+[A-Za-z]+[0-9]+)*)", re.IGNORECASE)


def silenced(path: str, raw: bytes, findings: Iterable[Finding]) -> bytes:
    """The content of a file with the comments that hide findings in it."""
    return apply(path, raw, comments(parse_source(path, raw), findings))


def comments(source: Source, findings: Iterable[Finding]) -> list[Edit]:
    """The edits that put comments which hide findings behind the statements of the file that they stand in."""
    ends = _ends(source)
    wanted: dict[int, set[str]] = {}
    for finding in findings:
        row = source.row_of(finding.location)
        wanted.setdefault(ends.get(row, row), set()).add(finding.code)
    lines = source.lines()
    edits = []
    for row, codes in wanted.items():
        line = lines[row - 1].rstrip()
        found = _CODES.search(line)
        at = found.end() if found else len(line)
        text = (", " if found else "  # noqa: ") + ", ".join(sorted(codes))
        edits.append(Edit(source.place(Location(source.filename, row, at + 1, row, at + 1)), text))
    return edits


def _ends(source: Source) -> dict[int, int]:
    """For each row of a statement the last one, behind which a comment can stand."""
    ends: dict[int, int] = {}
    first = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
            if token.type == tokenize.NEWLINE:
                ends.update(dict.fromkeys(range(first or token.start[0], token.start[0] + 1), token.start[0]))
                first = 0
            elif token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
                first = first or token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass
    return ends
