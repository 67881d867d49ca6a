"""Lines of source files. Nothing of torch is needed for that."""

from __future__ import annotations

from torchsan.own import linecache


def line_of(filename: str, row: int) -> str:
    """A line of a source file; empty where there is none."""
    lines = linecache.getlines(filename)
    return lines[row - 1] if 0 < row <= len(lines) else ""
