"""602: batches go to the GPU from pageable memory."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.checks.data.passes import Pass, called
from torchsan.own import torch
from torchsan.report.printing import code_at

_LOOK = 2  # the batch of a pass that is looked at: before the first one, the model may not have been seen


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


CHECKS = (NotPinned,)
