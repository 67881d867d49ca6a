"""320: `binary_cross_entropy` of values that are no probabilities."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.autograd_graph import trait_of
from torchsan.stream.events import Event

_FIRST = 3  # calls that are read before the kernel runs, where an assert of the device would end the process
_MADE = {"scores": "it comes from a layer", "log-probabilities": "it holds logarithms of probabilities"}


class LogitsIntoBce(Check):
    """A loss of probabilities is given something else."""

    numbers = (320,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.calls = 0

    def before_loss(self, event: Event) -> None:
        given = event.input
        if event.subject == "binary_cross_entropy" and isinstance(given, torch.Tensor) and given.is_cuda:
            self.calls += 1
            if self.calls <= _FIRST or self.thorough:
                self._look(event, given)

    def on_loss(self, event: Event) -> None:
        given = event.input
        if event.error is not None and event.subject == "binary_cross_entropy" and isinstance(given, torch.Tensor):
            self._look(event, given)

    def _look(self, event: Event, given: torch.Tensor) -> None:
        if not given.is_floating_point() or not given.numel():
            return
        with torch.no_grad():
            low, high = (float(end) for end in torch.aminmax(given.detach()))
        if low < 0 or high > 1:  # not so where there is a NaN: that is another mistake
            made = _MADE.get(trait_of(given) or "", "")
            fact = f"its values lie between {low:.4g} and {high:.4g}" + (f", {made}" if made else "")
            self.found(320, event, loss=event.subject, fact=fact, details={"min": low, "max": high})


CHECKS = (LogitsIntoBce,)
