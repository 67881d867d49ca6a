"""113: every batch waits for the device, to read a number from it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View

CODE = 113
# Not `device=x.device`, which stays where it is.
_DEVICE = re.compile(r"(?<![\w.])device\b(?!\s*=\s*[\w.]+\.device\b)|\.device\(")


def check(view: View) -> Iterator[Report]:
    """`.item()`, `.tolist()` and `.numpy()` of what the model computed, for each batch and under no condition."""
    for event in view.of("readout"):
        if (
            not event.loops
            or event.name not in ("item", "tolist", "numpy")
            or event.subject is None
            or not _on_device(event)
        ):
            continue
        loop = event.loops[-1]
        forwards = [
            flow for flow in event.subject.flows if flow.kind == "forward" and flow.loops and loop in flow.loops
        ]
        heads = [head for head in view.of("loop") if head.get("loop") is loop]
        if heads and any(set(event.guards) <= set(heads[0].guards) | set(forward.guards) for forward in forwards):
            yield Report(
                CODE, event.site, {"call": view.call_text(event.site)}, [(loop.site, "for each batch of this loop")]
            )


def _on_device(event: Event) -> bool:
    """Whether the program moves anything to a device at all."""
    facts = event.site.parsed.facts
    if facts.words & {"cuda", "accelerator", "fabric", "DataParallel", "rank", "local_rank"}:
        return True
    return "device" in facts.words and any(_DEVICE.search(line) for line in facts.lines)
