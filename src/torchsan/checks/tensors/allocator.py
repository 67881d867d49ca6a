"""424: the allocator's cache is emptied for every batch. 602: batches go to the GPU from pageable memory."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torchsan.check import Check
from torchsan.checks.data.passes import Pass, called
from torchsan.program.where import Where
from torchsan.report.printing import code_at
from torchsan.stream.events import Event

_STEPS = 4  # in a row, each with a call on the same line
_LOOK = 2  # the batch of a pass that is looked at: before the first one, the model may not have been seen


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


class NotPinned(Check):
    """Batches for the GPU are loaded into pageable memory."""

    numbers = (602,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.passes.at_trained.append(self._trained)

    def _trained(self, one: Pass) -> None:
        loader, last = one.loader, self.ledger.last_forward
        if one.trained != _LOOK or one.number or loader.pin_memory or last is None or not _on_gpu(last.subject):
            return
        if any(seen is not None for prints in one.prints for seen in prints):  # what lies on a device has no print
            known = self.watch.passes.history(loader)
            place = known.place(one.place)
            self.found(602, place, call=code_at(place) or called(known, loader) or "the loader")


def _on_gpu(model: Any) -> bool:
    parameter = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    return isinstance(parameter, torch.Tensor) and parameter.is_cuda


CHECKS = (EmptyCache, NotPinned)
