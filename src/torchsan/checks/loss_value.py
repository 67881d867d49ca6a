"""121: the loss is not a finite number. Which operation made it so is told by 422."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from torchsan.check import Check
from torchsan.events import Event
from torchsan.naming import name_of
from torchsan.where import Where

_SCALED = 3  # a scaler copes with an overflow now and then, not with one in every step


class NonFiniteLoss(Check):
    """The loss is NaN or infinite."""

    numbers = (121,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.in_a_row = 0

    def on_scaler_scale(self, event: Event) -> None:
        self._look(event.loss, event, scaled=True)

    def before_backward(self, event: Event) -> None:
        if event.scale is None:
            self._look(event.subject, event, scaled=False)

    def _look(self, loss: Any, event: Event, scaled: bool) -> None:
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return
        if loss.is_cpu:
            value = loss.item()
            if not math.isfinite(value):
                self._say(value, event.where(), self.watch.step, scaled, name_of(loss))
            elif scaled:
                self.in_a_row = 0
        else:
            if not loss.is_floating_point():
                return
            told = functools.partial(self._late, event.where(), self.watch.step, scaled)
            self.watch.late.ask(self, loss.detach(), told)

    def _late(self, place: Where | None, step: int, scaled: bool, value: float) -> None:
        if math.isfinite(value):
            self.in_a_row = 0
        else:
            self._say(value, place, step, scaled, None)

    def _say(self, value: float, place: Where | None, step: int, scaled: bool, name: str | None) -> None:
        self.in_a_row += 1
        if not scaled or self.in_a_row >= _SCALED:
            self.found(121, place, step=step, loss=name, value=value, fact=f"{value} at step {step}")


CHECKS = (NonFiniteLoss,)
