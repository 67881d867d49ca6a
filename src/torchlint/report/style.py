"""When to colour, and how."""

from __future__ import annotations

import os
from typing import TextIO

COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def coloured(out: TextIO) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR is set; anywhere where FORCE_COLOR is (no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return out.isatty() and os.environ.get("TERM") != "dumb"
