"""Why a text is no Python, in words that help who wrote it for another release."""

from __future__ import annotations

import re

_ASYNC = re.compile(r"[(,]\s*async\s*=")
_NON_BLOCKING = "`async` is a keyword since Python 3.7, and torch calls this argument `non_blocking` since 0.4"


def reason(error: SyntaxError, lines: list[str]) -> str:
    """What the parser says of a text, in one line; of `x.cuda(async=True)`, which it only calls invalid, what it is now."""
    words = str(error.msg).strip().split("\n")[0]
    row = error.lineno or 0
    return f"{words}: {_NON_BLOCKING}" if 0 < row <= len(lines) and _ASYNC.search(lines[row - 1]) else words
