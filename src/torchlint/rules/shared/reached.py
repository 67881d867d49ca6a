"""Whether a place is reached at all, as far as rules about sizes may say."""

from __future__ import annotations

import re

from torchlint.dryrun.values import Event

# Conditions on what is given: which branch is taken may depend on its size.
_ASKS = re.compile(r"\b(?:isinstance|n?dim|size|shape|len|rank|type|numel|hasattr)\b|[=!<>]=|[<>]")
_MAIN = re.compile(r"__name__")


def may_be_dead(event: Event) -> bool:
    """Whether a condition on sizes or numbers stands around it: those are not decided here."""
    return any(_ASKS.search(text) and not _MAIN.search(text) for text in (guard.text() for guard, _ in event.guards))
