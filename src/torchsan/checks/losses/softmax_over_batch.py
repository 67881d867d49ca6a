"""312: a softmax inside of a model that is over the samples of the batch, or over the heads of its attention."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.modules.softmax_calls import Call, SoftmaxCalls
from torchsan.program.layers import tensors
from torchsan.report.printing import code_at
from torchsan.stream.events import Event

_LEAST = 4  # samples: smaller sizes are met by chance
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

    def start(self) -> None:
        for check in self.watch.checks:
            if isinstance(check, SoftmaxCalls):
                check.hear(self, self._told)

    def on_loader_batch(self, event: Event) -> None:
        size = getattr(event.subject, "batch_size", None)
        self.batch_size = size if isinstance(size, int) else None

    def _told(self, event: Event, calls: list[Call]) -> None:
        given = next((t.shape[0] for t in tensors((event.args, event.kwargs)) if t.dim()), 0)
        for call in calls:
            words = self._wrong(call, given)
            if words is None or call.at is None:
                continue
            key = (call.at.code, call.at.line)
            self.seen[key] = self.seen.get(key, 0) + 1
            if self.seen[key] > 1:
                fact = f"dimension {call.dim} of {tuple(call.shape)}"
                self.found(312, call.at, words=words, call=code_at(call.at), fact=fact)

    def _wrong(self, call: Call, given: int) -> tuple[str, str] | None:
        shape = call.shape
        if call.name == "attention" or given < _LEAST or shape[0] != given or shape.count(given) != 1:
            return None
        if call.dim == 0 and len(shape) > 1 and (given == self.batch_size or (call.of_product and len(shape) > 2)):
            return _BATCH
        scores = call.of_product and len(shape) == 4 and shape[2] == shape[3]
        return _HEADS if scores and call.dim == 1 and shape[1] > 1 and shape[1] != shape[3] else None


CHECKS = (SoftmaxOverBatch,)
