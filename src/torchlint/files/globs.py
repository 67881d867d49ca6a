"""Patterns of file names as .gitignore has them, from files that anybody may have written."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_NAME = 250  # characters in a file's name, at most
_MOST_WAYS = 5_000_000


def usable(pattern: str) -> bool:
    """Whether a pattern is one, and is matched in time: each further * of a name multiplies the ways to try."""
    ways = math.prod(math.comb(_NAME, max(0, len(re.findall(r"\*+", part)) - 1)) for part in pattern.split("/"))
    if len(pattern) > 4000 or ways > _MOST_WAYS:
        return False
    try:
        _compiled([pattern])
    except (ValueError, re.error, OverflowError, RecursionError):
        return False
    return True


def spec_of(patterns: Iterable[str]) -> GitIgnoreSpec:
    """What matches any of some patterns. Those that are none are passed over, as git does."""
    return _compiled([pattern for pattern in patterns if not pattern.strip() or pattern.startswith("#") or usable(pattern)])


def _compiled(patterns: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # most projects have no patterns but .gitignore's, and many runs not even these

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the regular expressions that they become
        return GitIgnoreSpec.from_lines(patterns)
