"""312: a softmax inside of a model that is over the samples of the batch, or over the heads of its attention."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.modules.softmax_calls import Call, SoftmaxCalls
from torchsan.own import torch
from torchsan.program.layers import tensors
from torchsan.report.printing import code_at
from torchsan.stream.events import Event

_LEAST = 4  # samples: smaller sizes are met by chance
_OF_CLASSES = ("cross_entropy", "nll_loss")
_BATCH = (
    "`{call}` sums to one over the samples of the batch: what a sample gets depends on the others",
    "say the dimension that is meant: `dim=-1` for scores in the last one",
)
_HEADS = (
    "`{call}` sums to one over the heads: it weighs heads against each other, and no query chooses among the keys",
    "take the last dimension: `dim=-1`",
)


class SoftmaxOverBatch(Check):
    """A softmax is over the batch or over the heads."""

    numbers = (312,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.batch_size: int | None = None  # of the loader that gave the last batch
        self.seen: dict[tuple, int] = {}
        self.waiting: list[tuple[int, Call]] = []  # over dimension 0; whether these are samples, the loss may tell

    def start(self) -> None:
        for check in self.watch.checks:
            if isinstance(check, SoftmaxCalls):
                check.hear(self, self._told)

    def on_loader_batch(self, event: Event) -> None:
        size = getattr(event.subject, "batch_size", None)
        self.batch_size = size if isinstance(size, int) else None

    def _told(self, event: Event, calls: list[Call]) -> None:
        given = next((t.shape[0] for t in tensors((event.args, event.kwargs)) if t.dim()), 0)
        deep = max((t.dim() for t in tensors((event.args, event.kwargs))), default=0)
        self.waiting = []
        for call in calls:
            words = self._wrong(call, given)
            if words is not None:
                self._count(call, words)
            elif self.batch_size is None and deep > 2 and call.dim == 0 and call.name != "attention" and _is_first(call, given):
                self.waiting.append((given, call))

    def before_loss(self, event: Event) -> None:
        """A class for each of what stands in dimension 0 of a model's input, which has features and something more: then
        these are samples, and no steps, nodes or instances of one."""
        if not self.waiting:
            return
        waiting, self.waiting = self.waiting, []
        scores, target = event.input, event.target
        if event.subject in _OF_CLASSES and isinstance(scores, torch.Tensor) and isinstance(target, torch.Tensor):
            if scores.dim() == 2 and target.dim() == 1 and scores.requires_grad:
                for given, call in waiting:
                    if target.shape[0] == scores.shape[0] == given:
                        self._count(call, _BATCH)

    def _count(self, call: Call, words: tuple[str, str]) -> None:
        if call.at is None:
            return
        key = (call.at.code, call.at.line)
        self.seen[key] = self.seen.get(key, 0) + 1
        if self.seen[key] > 1:
            fact = f"dimension {call.dim} of {tuple(call.shape)}"
            self.found(312, call.at, words=words, call=code_at(call.at), fact=fact)

    def _wrong(self, call: Call, given: int) -> tuple[str, str] | None:
        shape = call.shape
        if call.name == "attention" or not _is_first(call, given):
            return None
        if call.dim == 0 and len(shape) > 1 and (given == self.batch_size or (call.of_product and len(shape) > 2)):
            return _BATCH
        scores = call.of_product and len(shape) == 4 and shape[2] == shape[3]
        return _HEADS if scores and call.dim == 1 and shape[1] > 1 and shape[1] != shape[3] else None


def _is_first(call: Call, given: int) -> bool:
    """Whether dimension 0 of a model's input is that of a softmax's, and no other has its size."""
    return given >= _LEAST and call.shape[0] == given and call.shape.count(given) == 1 and len(call.shape) > 1


CHECKS = (SoftmaxOverBatch,)
