"""What mending changes, as text that people read and `patch` applies."""

from __future__ import annotations

import difflib
import io
import re

from torchlint.files.parse import parse_source
from torchlint.files.source import Source
from torchlint.fixes.fixer import Mended

_ENDS = re.compile(rb"\r\n|\r|\n")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def diff(mended: Mended, shown: str, around: int = 3) -> str:
    """What changes, as a unified diff; in a notebook, cell by cell.

    Args:
        mended: the file before and after.
        shown: what to call it.
        around: how many lines stand around a change. Without any there are no headers either: what changes, and no more.
    """
    old, new = parse_source(mended.path, mended.before), parse_source(mended.path, mended.after)
    if old.rows is None:
        was, now = ((_as_written(text, raw) if around else text) for text, raw in ((old.text, mended.before), (new.text, mended.after)))
        return _unified(_lines(was), _lines(now), quoted(shown), around)
    before, after = _cells(old), _cells(new)
    parts = [
        (quoted(f"{shown}:cell {cell}"), before[cell], after[cell]) for cell in before if cell in after and before[cell] != after[cell]
    ]
    return "".join(
        (f"in cell {name.rpartition(' ')[2]}\n" if not around else "") + _unified(was, now, name, around)
        for name, was, now in parts
    )


def quoted(name: str) -> str:
    """A file name as git writes it in the head of a diff: one that could end the line, or take over a terminal, in quotes."""
    if name.isprintable() and not name.startswith('"') and "\\" not in name:
        return name
    told = "".join(
        _ESCAPES.get(char) or (char if char.isprintable() else "".join(f"\\{byte:03o}" for byte in char.encode()))
        for char in name
    )
    return f'"{told}"'


def _as_written(text: str, raw: bytes) -> str:
    """The text of a file with the line ends that stand in it: what `patch` has to find."""
    ends = _ENDS.findall(raw) if b"\r" in raw and b"\0" not in raw else []
    rows = text.split("\n")
    if len(ends) != len(rows) - 1:
        return text
    return "".join(row + end.decode() for row, end in zip(rows, [*ends, b""]))


def _lines(text: str) -> list[str]:
    """The lines with their ends; a form feed, say, ends none."""
    return list(io.StringIO(text, newline="\n"))


def _cells(source: Source) -> dict[int, list[str]]:
    cells: dict[int, list[str]] = {}
    for (cell, _), line in zip(source.rows or (), source.lines()):
        cells.setdefault(cell, []).append(line + "\n")
    return cells


def _unified(old: list[str], new: list[str], name: str, around: int) -> str:
    lines = []
    for line in list(difflib.unified_diff(old, new, name, name, n=around))[0 if around else 2:]:
        lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)
