"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from torchsan.own import math

_DIGITS = range(3, 8)


def short(value: float, digits: int = 3) -> str:
    """A number in few letters: 0.03, 12, 1.2e-07."""
    if not math.isfinite(value):
        return "not finite"
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e6 else f"{value:.{digits}g}"


def told_apart(values: Sequence[float]) -> list[str]:
    """Different numbers in as few letters as leave them different: 5.98 and 5.985."""
    for digits in _DIGITS:
        told = [short(value, digits) for value in values]
        if len(set(told)) == len(told):
            break
    return told
