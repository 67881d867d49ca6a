"""424: the allocator's cache is emptied for every batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View

CODE = 424
CALLS = frozenset({"torch.cuda.empty_cache"})


def check(view: View) -> Iterator[Report]:
    """`torch.cuda.empty_cache()` in the innermost loop around a backward or a forward."""
    for event in view.of("call"):
        if event.name not in CALLS or not event.loops:
            continue
        work = [other for other in view.of("backward", "forward") if other.loops and other.loops[-1] is event.loops[-1]]
        if work and not event.guards:
            yield Report(CODE, event.site, {}, [(work[0].site, "in the same loop as this")])
