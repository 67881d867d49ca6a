"""424: the allocator's cache is emptied for every batch."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.program.where import Where
from torchsan.stream.events import Event

_STEPS = 4  # in a row, each with a call on the same line


class EmptyCache(Check):
    """The memory allocator's cache is emptied for every batch."""

    numbers = (424,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.calls: dict[Where | None, list[tuple[int, float]]] = {}  # by line: the step and the seconds of each

    def on_cache_empty(self, event: Event) -> None:
        self.watch.series.record("time/empty_cache", self.ledger.step, event.took)
        calls = self.calls.setdefault(event.where(), [])
        if calls and self.ledger.step != calls[-1][0] + 1:
            calls.clear()
        calls.append((self.ledger.step, event.took))
        if len(calls) == _STEPS:
            lost = sum(took for _, took in calls)
            self.found(424, event, fact=f"{lost:.2g} s in {_STEPS} steps", details={"seconds": round(lost, 4)})
            calls.clear()


CHECKS = (EmptyCache,)
