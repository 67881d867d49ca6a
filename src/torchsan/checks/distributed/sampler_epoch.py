"""801: a distributed sampler is never told the epoch, so every epoch has the same order."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from torchsan.check import Check
from torchsan.program.naming import name_of
from torchsan.stream.events import Event


class MissingSetEpoch(Check):
    """A distributed sampler is not told the epoch: every epoch comes in the same order."""

    numbers = (801,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.trained: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # the epoch of the last pass with a backward
        self.running: Any = None
        self.began: Event | None = None

    def before_loader_iterate(self, event: Event) -> None:
        self.running, self.began = _sampler(event.subject), event
        event.where()

    def on_backward(self, event: Event) -> None:
        # A pass without a backward is an evaluation, whose order does not matter.
        sampler, began = self.running, self.began
        if sampler is None or began is None:
            return
        self.running = None
        if self.trained.get(sampler) == sampler.epoch:
            self.found(
                801,
                began,
                sampler=name_of(sampler),
                loader=name_of(began.subject),
                call="set_epoch",
                fact=f"epoch {sampler.epoch} again",
            )
        self.trained[sampler] = sampler.epoch

    def on_loader_end(self, event: Event) -> None:
        if _sampler(event.subject) is self.running:
            self.running = None


def _sampler(loader: Any) -> Any:
    """The loader's sampler if it shuffles by an epoch that it must be told."""
    for sampler in (getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)):
        for candidate in (sampler, getattr(sampler, "sampler", None)):
            if callable(getattr(candidate, "set_epoch", None)) and getattr(candidate, "shuffle", False):
                if isinstance(getattr(candidate, "epoch", None), int):
                    return candidate
    return None


CHECKS = (MissingSetEpoch,)
