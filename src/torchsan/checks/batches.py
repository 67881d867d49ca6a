"""423: a batch that cannot be right: NaN or infinite values, one value all over, raw 0..255 pixels in a float model."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from torchsan.check import Check
from torchsan.events import Event
from torchsan.layers import tensors
from torchsan.naming import name_of

_FIRST, _EVERY = 4, 64  # inputs looked at: the first few, then one in so many
_FEW = 16  # values below which a constant tells nothing
_WORDS = ("mean", "std", "scale", "norm", "preprocess", "rescale")


class BadBatch(Check):
    """A batch holds NaN or infinite values, one value all over, or raw pixels from 0 to 255."""

    numbers = (423,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.count = 0
        self.constant = 0

    def before_forward(self, event: Event) -> None:
        if event.depth or not event.grad:
            return
        self.count += 1
        if self.count > _FIRST and self.count % _EVERY:
            return
        for given in tensors((event.args, event.kwargs)):
            if given.is_floating_point() and given.numel() and given.layout == torch.strided and given.grad_fn is None:
                self._look(given, event)

    def _look(self, given: torch.Tensor, event: Event) -> None:
        with torch.no_grad():
            low, high = (float(value) for value in torch.aminmax(given.detach().float()))
        if not (abs(low) < float("inf") and abs(high) < float("inf")):
            bad = int((~torch.isfinite(given)).sum())
            self._say(event, given, f"{bad} of {given.numel()} values are NaN or infinite", low, high)
        elif low == high and given.numel() >= _FEW and given.dim() > 1 and given.shape[0] > 1:
            self.constant += 1
            if self.constant > 1:
                self._say(event, given, f"every value is {low:g}", low, high)
        elif low >= 0 and 64 < high <= 255 and given.dim() >= 3 and not _normalises(event.subject):
            if bool((given == given.round()).all()):
                self._say(event, given, f"whole numbers from {low:g} to {high:g}", low, high)

    def _say(self, event: Event, given: torch.Tensor, fact: str, low: float, high: float) -> None:
        name = name_of(given) or "input"
        details = {"min": repr(low), "max": repr(high)}
        self.found(423, event, name=name, model=name_of(event.subject), fact=f"{name}: {fact}", details=details)


def _normalises(module: nn.Module) -> bool:
    """Whether a model seems to bring raw pixels into range itself: a normalising layer first, or constants to do it."""
    first = next((m for m in module.modules() if next(m.parameters(recurse=False), None) is not None), None)
    if first is None or isinstance(first, (_BatchNorm, nn.LayerNorm, nn.GroupNorm, nn.Embedding)):
        return True
    names = [name.lower() for name, _ in (*module.named_buffers(), *module.named_modules())]
    names += [name.lower() for name in vars(module)]
    code = getattr(type(module).forward, "__code__", None)
    constants = code.co_consts if code is not None else ()
    running = [n for n in names if not n.endswith(("running_mean", "running_var"))]
    return any(word in n for n in running for word in _WORDS) or any(c in (255, 255.0, 127.5, 128) for c in constants)


CHECKS = (BadBatch,)
