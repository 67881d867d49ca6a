"""319: a loss over one class. What a softmax over one value does to a whole training tells `gradients/nothing_learned.py`."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.where import Where
from torchsan.stream.events import Event

_CALLS = 5  # of a line, all over one class: a list of candidates may be down to one now and then
_LOSSES = frozenset(("cross_entropy", "nll_loss"))


class OneClass(Check):
    """A loss has one class to choose from."""

    numbers = (319,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.calls: dict[Where, int] = {}  # lines at which there was one class, always

    def before_loss(self, event: Event) -> None:
        given = event.input
        if event.subject not in _LOSSES or not isinstance(given, torch.Tensor) or given.dim() < 2:
            return
        if given.shape[1] != 1:
            if self.calls:
                self.calls[event.where()] = 1 << 30
        elif given.requires_grad and given.shape[0] > 1:
            place = event.where()
            calls = self.calls[place] = self.calls.get(place, 0) + 1
            if calls == _CALLS:
                shape = list(given.shape)
                self.found(319, event, loss=event.subject, fact=f"its input is {shape}: dimension 1 has one class")


CHECKS = (OneClass,)
