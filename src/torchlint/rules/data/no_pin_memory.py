"""602: batches for the GPU lie in pageable memory."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, option

CODE = 602


def check(view: View) -> Iterator[Report]:
    """A DataLoader without `pin_memory`, in a file that speaks of CUDA."""
    for event, loader in created(view):
        if option(loader, "pin_memory") is None and any("cuda" in line for line in event.site.parsed.facts.lines):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})
