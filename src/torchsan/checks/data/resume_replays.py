"""620: a training that goes on from a checkpoint gets the batches again that it had in the pass that was left.

It is seen where the process that left the pass is the one that goes on: the prints of batches do not outlive it.
"""

from __future__ import annotations

from typing import Any

from torch.utils.data import IterableDataset, SequentialSampler

from torchsan.check import Check
from torchsan.checks.data.data_order import same
from torchsan.checks.data.passes import Pass, called
from torchsan.stream.events import Event

_BATCHES = 3  # that are compared; fewer may be chance


class ResumeReplays(Check):
    """The first batches after a state was loaded are those of the pass that was left."""

    numbers = (620,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.last: Pass | None = None  # the pass that was trained on last; its loader may be gone when a state is loaded
        self.left: Pass | None = None  # the pass that was not at its end when a state was loaded
        self.loaded: Any = None
        watch.passes.at_trained.append(self._trained)

    def on_load(self, event: Event) -> None:
        if self.last is not None and not self.last.ended:
            self.left, self.loaded = self.last, event.where()

    def _trained(self, one: Pass) -> None:
        if self.left is not None and one is not self.left and one.trained == one.batches == _BATCHES:
            self._compare(self.left, one)
            self.left = None
        if one.trained >= _BATCHES and len(one.prints) >= _BATCHES:
            self.last = one

    def _compare(self, left: Pass, one: Pass) -> None:
        loader = one.loader
        if type(loader.sampler) is SequentialSampler or isinstance(loader.dataset, IterableDataset):
            return  # it begins at the first sample in every pass
        if same(left.prints[:_BATCHES], one.prints[:_BATCHES]):
            known = self.watch.passes.history(loader)
            self.found(
                620, one.place, words=_WORDS, loader=called(known, loader) or "the loader",
                fact=f"the first {_BATCHES} batches are those of the pass that was left",
                related=((left.place, "the pass that was left"), (self.loaded, "the state is loaded here")),
            )


_WORDS = (
    "`{loader}` gives the batches again that were trained on before the state was loaded",
    "save the state of what draws the order, too: `torchdata.stateful_dataloader.StatefulDataLoader` keeps it, or skip the batches "
    "that were done (`itertools.islice`, `skip_first_batches`); or save at the end of an epoch",
)
CHECKS = (ResumeReplays,)
