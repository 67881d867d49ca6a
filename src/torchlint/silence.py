"""What `--add-noqa` does: a comment behind each statement that has a finding."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tokenize
from collections.abc import Collection, Sequence
from pathlib import Path

from torchlint.edits import EditError, apply
from torchlint.findings import Edit, Finding, Location
from torchlint.reading import read_bytes
from torchlint.source import Problem, Source, SourceError, describe, parse_source
from torchlint.writing import Changed

_CODES = re.compile(r"#\s*noqa\s*:\s*(?P<codes>[A-Za-z]+[0-9]+(?:[\s,]+[A-Za-z]+[0-9]+)*)", re.IGNORECASE)


def add_noqa(findings: Sequence[Finding], root: Path, judged: Collection[str]) -> tuple[int, list[Problem]]:
    """Writes `# noqa` comments for findings into the files that they stand in.

    Args:
        findings: what is to be hidden.
        root: the project's folder. Files in it may be changed, whether they were named or are imported by those that were.
        judged: the files that were named, by their full paths: these may be changed wherever they are.

    Returns:
        How many findings are hidden now, and which files could not be changed.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(os.path.abspath(finding.location.filename), []).append(finding)
    hidden, problems = 0, []
    for path, some in sorted(by_file.items()):
        try:
            if path not in judged and not Path(path).is_relative_to(os.path.abspath(root)):
                raise OSError("it is outside of the project, and was not named")
            raw = read_bytes(path)
            digest = hashlib.sha256(raw).hexdigest()
            if any(finding.digest != digest for finding in some):
                raise Changed
            after = silenced(path, raw, some)
            from torchlint.fix import Mended, write

            if after != raw:
                write(Mended(path, raw, after, {}), root)
            hidden += len(some)
        except (OSError, SourceError, EditError) as error:
            why = describe(error) if isinstance(error, OSError) else str(error)
            problems.append(Problem(os.path.relpath(path), f"cannot be changed: {why}"))
    return hidden, problems


def silenced(path: str, raw: bytes, findings: Sequence[Finding]) -> bytes:
    """The content of a file with the comments that hide findings in it."""
    source = parse_source(path, raw)
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
        edits.append(Edit(source.place(Location(path, row, at + 1, row, at + 1)), text))
    return apply(path, raw, edits)


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
