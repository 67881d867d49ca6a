"""208: an evaluation leaves out the samples of the last batch."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.data.passes import Pass, called
from torchsan.own import weakref
from torchsan.stream.events import Event


class DropLast(Check):
    """A loader for evaluation leaves samples out."""

    numbers = (208,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.waiting: list[tuple[weakref.ref, Pass, int, int, int]] = []
        self.trained = False  # whether a pass that trained has ended

    def on_loader_end(self, event: Event) -> None:
        one = self.watch.passes.current(event.subject)
        if one is None:
            return
        if one.trained:
            self.trained = True
        elif one.evaluated and one.number < 2:
            self._note(one)
        if self.trained:
            self._say()

    def _note(self, one: Pass) -> None:
        loader = one.loader
        size = getattr(loader.batch_sampler, "batch_size", None)
        if not getattr(loader.batch_sampler, "drop_last", False) or not isinstance(size, int):
            return
        try:
            count = len(loader.sampler)
        except TypeError:
            return
        if count % size and not any(ref() is loader for ref, *_ in self.waiting):
            self.waiting.append((weakref.ref(loader), one, count % size, count, self.watch.ledger.step))

    def finish(self) -> None:
        self._say()

    def _say(self) -> None:
        """What is evaluated before the training may be the training data: the first pass that trains shows."""
        for ref, one, left, count, step in self.waiting:
            loader = ref()
            if loader is not None and not (known := self.watch.passes.history(loader)).ever_trained:
                self.found(
                    208,
                    known.place(one.place),
                    step=step,
                    name=called(known, loader) or "the loader",
                    which=f"{left} of {count} samples",
                    related=((one.place, "the model is evaluated here"),),
                )
        self.waiting = []


CHECKS = (DropLast,)
