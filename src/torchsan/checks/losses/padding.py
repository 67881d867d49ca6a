"""315: most of what a loss averages over is padding.

That it is padding says the model: an `nn.Embedding` over the same vocabulary has this class as its `padding_idx`. A
loss that leaves it out by `ignore_index` or a weight of 0, or gives one value for each target, is somebody's who knows.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.checks.losses.targets import _classes
from torchsan.own import torch
from torchsan.program.walks import parts_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

_ARGUMENTS = ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction")
_LOOKS = 4  # calls of a line whose targets are counted
_AGAIN = 64  # calls for which models are taken to have no such vocabulary, where a look found none
_MOST = 0.5  # "most positions": more than half of them all


class PaddingCounts(Check):
    """Most targets of a loss are padding, and they count."""

    numbers = (315,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looks: dict[Where, int] = {}
        self.lacking: dict[int, tuple[list[int], int]] = {}  # by number of classes: models without such a vocabulary, calls since
        self.counted: dict[Where, list[int]] = {}  # answers, targets that are padding, and all

    def before_loss(self, event: Event) -> None:
        pair = _classes(event)
        if pair is None or pair[1].dtype is not torch.int64 or not pair[0].requires_grad:
            return
        place = event.where()
        if place is None or self.looks.get(place, 0) == _LOOKS:
            return
        given, target = pair
        named = {**dict(zip(_ARGUMENTS, event.args)), **event.kwargs}
        weight, classes = named.get("weight"), given.shape[0] if given.dim() == 1 else given.shape[1]
        pad = self._padding(classes)
        if pad is None or pad == named.get("ignore_index", -100) or named.get("reduction", "mean") == "none":
            return
        if named.get("reduce") is False or weight is not None:
            return
        self.looks[place] = self.looks.get(place, 0) + 1
        total, step, loss = target.numel(), self.ledger.step, event.subject
        with torch.no_grad():
            padded = (target == pad).sum()
        self.watch.late.ask(self, padded, lambda count: self._judge(place, int(count), total, pad, step, loss))

    def _judge(self, place: Where, count: int, total: int, pad: int, step: int, loss: str) -> None:
        counted = self.counted.setdefault(place, [0, 0, 0])
        counted[:] = counted[0] + 1, counted[1] + count, counted[2] + total
        if counted[0] == _LOOKS and counted[1] > _MOST * counted[2]:
            share = counted[1] / counted[2]
            self.found(
                315, place, step=step, loss=loss, index=pad, fact=f"{share:.0%} of {counted[2]} targets are {pad}",
                details={"share": round(share, 3), "padding_idx": pad},
            )

    def _padding(self, classes: int) -> int | None:
        """The index of padding in a vocabulary of this size, where the models have one."""
        models = self.watch.modules()
        ids = [id(model) for model in models]
        looked_at, calls = self.lacking.get(classes, ((), 0))
        if looked_at == ids and calls < _AGAIN:  # a layer may come later
            self.lacking[classes] = ids, calls + 1
            return None
        found = {
            layer.padding_idx
            for model in models for layer in parts_of(model)
            if isinstance(layer, nn.Embedding) and layer.num_embeddings == classes
        }
        if not found:
            self.lacking[classes] = ids, 0
        return found.pop() if len(found) == 1 else None


CHECKS = (PaddingCounts,)
