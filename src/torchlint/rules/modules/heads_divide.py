"""511: attention heads that do not divide the width."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View, once

CODE = 511


def check(view: View) -> Iterator[Report]:
    """MultiheadAttention and the Transformer layers raise when they are built."""
    yield from once(
        Report(CODE, event.site, {
            "width": str(event.width), "heads": str(event.heads), "width_name": event.width_name, "heads_name": event.heads_name,
            "rest": str(event.width % event.heads),
        })
        for event in view.of("heads")
    )
