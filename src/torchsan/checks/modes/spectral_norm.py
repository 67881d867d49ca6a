"""209: a layer under `torch.nn.utils.spectral_norm` is evaluated before it ever ran in training mode."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.utils.spectral_norm import SpectralNorm

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds

_LOOKS = 2  # evaluations of a model that are looked at
_FAR = 2.0  # times that a norm is off; after one power iteration of a random matrix it is within that


class SpectralNormFirstEval(Check):
    """A layer under spectral_norm is evaluated with the random vectors that it began with."""

    numbers = (209,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.without = WeakIds()  # models that have no such layer
        self.looks: dict[int, int] = self.ledger.while_alive({})

    def before_forward(self, event: Event) -> None:
        model = event.subject
        if event.training or event.depth or model in self.without:
            return
        layers = [(path, layer, hook) for path, layer in model.named_modules() for hook in _norms(layer)]
        if not layers:
            self.without.add(model)
            return
        self.looks[id(model)] = self.looks.get(id(model), 0) + 1
        if self.looks[id(model)] <= _LOOKS:
            far = [(path, times) for path, layer, hook in layers if (times := _times_too_large(layer, hook)) > _FAR]
            if far:
                path, times = max(far, key=lambda item: item[1])
                self.found(
                    209, event, model=name_of(model), layer=path or type(model).__name__, details={"layers": len(far)},
                    fact=f"its outputs are at least {times:.3g} times too large",
                )


def _norms(layer: nn.Module) -> list[SpectralNorm]:
    return [hook for hook in layer._forward_pre_hooks.values() if isinstance(hook, SpectralNorm)]


def _times_too_large(layer: nn.Module, hook: SpectralNorm) -> float:
    """How far the layer's estimate of its weight's largest singular value is below what the estimate itself shows.

    The estimate is uᵀWv. One power iteration makes u = Wv / ‖Wv‖, so that it is ‖Wv‖, which no singular value exceeds;
    with random vectors it is far less.
    """
    with torch.no_grad():
        weight = hook.reshape_weight_to_matrix(getattr(layer, f"{hook.name}_orig").detach())
        u, v = getattr(layer, f"{hook.name}_u"), getattr(layer, f"{hook.name}_v")
        made = torch.mv(weight, v)
        estimate, shown = torch.dot(u, made).abs(), made.norm()
        return float(shown / estimate) if estimate > 0 else 0.0


CHECKS = (SpectralNormFirstEval,)
