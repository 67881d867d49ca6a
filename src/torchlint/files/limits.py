"""What is not code that a person wrote, or will read: found out before Python's parser is let at it."""

from __future__ import annotations

import re
import sys

# Such files are data: Python's tree of one takes 500 bytes a character.
MAX_CHARACTERS = 2_000_000
# Before 3.12, Python looks for the place of each part of an f-string from the string's start: parts times characters, of
# which it does about 3e9 a second.
_MOST_WORK = 6_000_000_000
_FSTRING = re.compile(
    r"\b(?:f|fr|rf)(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")", re.I | re.S
)


def too_much(text: str, size: int | None = None) -> str | None:
    """Why a text is not for the parser; None where it is.

    Args:
        text: the text, or a cell of it.
        size: how many characters there are in all, if more than these.
    """
    size = size or len(text)
    if size > MAX_CHARACTERS:
        return f"too large to judge: {size / 1e6:.0f} million characters of code"
    if sys.version_info < (3, 12) and text.count("{") * len(text) > _MOST_WORK:
        work = sum(part.count("{") * len(part) for part in _FSTRING.findall(text))
        if work > _MOST_WORK:
            return "too large to judge: it holds an f-string of so many parts that Python before 3.12 needs minutes to parse it"
    return None
