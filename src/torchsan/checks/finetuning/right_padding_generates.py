"""010: a decoder-only model goes on behind padding.

Generation calls the model's forward: first with the whole input, and then with one token more and what it remembers. Where the
mask's last column has a zero then, a row was padded on the right.
"""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

_LOOKS = 8


class RightPadding(Check):
    """A batch that was padded on the right is gone on with."""

    numbers = (10,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.left = _LOOKS
        self.first: tuple[weakref.ref, torch.Tensor, int, Where | None, str] | None = None

    def before_forward(self, event: Event) -> None:
        if event.depth or event.grad or not self.left:
            return
        ids, mask = event.kwargs.get("input_ids"), event.kwargs.get("attention_mask")
        first, self.first = self.first, None
        if type(ids) is not torch.Tensor or type(mask) is not torch.Tensor or ids.dim() != 2 or mask.dim() != 2:
            return
        model = event.subject
        if getattr(getattr(model, "config", None), "is_encoder_decoder", False) or not _generates():
            return
        if first is not None and first[0]() is model and ids.shape[1] == 1 and mask.shape[1] == first[2] + 1 and len(mask) > 1:
            self.left -= 1
            _, padded, _, place, call = first
            self.watch.late.ask(self, padded, lambda rows: self._judge(rows, place, call))
        elif ids.shape[1] > 1 and mask.shape == ids.shape:
            with torch.no_grad():
                padded = ((mask[:, -1] == 0) & (mask != 0).any(1)).sum()
            name = name_of(model) or "model" if self.left == _LOOKS else "model"
            self.first = weakref.ref(model), padded, ids.shape[1], event.where(), f"{name}.generate(...)"

    def _judge(self, rows: float, place: Where | None, call: str) -> None:
        if rows:
            self.found(10, place, call=call, fact=f"{int(rows)} rows of the batch end in padding")


def _generates() -> bool:
    """Whether a generation of transformers is running."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "generate" and "generation" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


CHECKS = (RightPadding,)
