"""scaler.scale, scaler.unscale, scaler.step, scaler.update of an enabled GradScaler.

Subject: the scaler. `scale`: `loss` (before), `scaled` (after); `unscale` and `step`: `optimizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.amp import GradScaler

from torchsan.nonfinite.step_function import local
from torchsan.own import torch
from torchsan.stream.events import begin, end
from torchsan.stream.patches import Patches


def install(patches: Patches) -> None:
    patches.method(GradScaler, "scale", _scale)
    patches.method(GradScaler, "unscale_", _with_optimizer("scaler.unscale"))
    patches.method(GradScaler, "step", _with_optimizer("scaler.step"))
    patches.method(GradScaler, "update", _update)


def _scale(original: Callable) -> Callable:
    def scale(self: GradScaler, outputs: Any) -> Any:
        if torch.compiler.is_compiling() or not self.is_enabled():
            return original(self, outputs)
        if local.rehearsal is not None:
            return outputs
        event = begin("scaler.scale", self, loss=outputs)
        scaled = original(self, outputs)
        if event is not None:
            event.scaled = scaled
            end(event)
        return scaled

    return scale


def _with_optimizer(name: str) -> Callable[[Callable], Callable]:
    def make(original: Callable) -> Callable:
        def method(self: GradScaler, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            # A step unscales by itself: that call is not the user's, but the gradients are unscaled all the same.
            if not self.is_enabled():
                return original(self, optimizer, *args, **kwargs)
            event = begin(name, self, optimizer=optimizer)
            result = original(self, optimizer, *args, **kwargs)
            end(event)
            return result

        return method

    return make


def _update(original: Callable) -> Callable:
    def update(self: GradScaler, *args: Any, **kwargs: Any) -> None:
        event = begin("scaler.update", self) if self.is_enabled() else None
        original(self, *args, **kwargs)
        end(event)

    return update
