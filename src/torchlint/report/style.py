"""When to colour, and how."""

from __future__ import annotations

import os
from typing import TextIO

COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


# What the command's own option says; None where it says nothing.
asked: bool | None = None


def coloured(out: TextIO) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR is set; anywhere where FORCE_COLOR is (no-color.org)."""
    if asked is not None:
        return asked
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return out.isatty() and os.environ.get("TERM") != "dumb"


def width(out: TextIO) -> int | None:
    """How many columns there are to print in: those of the terminal, or what COLUMNS says. None where nothing says so: a log
    of a CI server has no width, whatever is coloured there."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    if not out.isatty():
        return None
    try:
        return os.get_terminal_size(out.fileno()).columns or None
    except (OSError, ValueError):
        return 80
