"""Numbers as people read them."""

from __future__ import annotations

from torchsan.own import math


def short(value: float) -> str:
    """A number in few letters: 0.03, 12, 1.2e-07."""
    if not math.isfinite(value):
        return "not finite"
    return f"{int(value):,}" if value == int(value) and abs(value) < 1e6 else f"{value:.3g}"
