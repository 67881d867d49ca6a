"""141: the running statistics of a frozen layer move."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from torchsan.check import Check
from torchsan.checks.modes.train_and_eval import estimates
from torchsan.own import torch, weakref
from torchsan.program.layers import mode_layers
from torchsan.program.naming import name_of
from torchsan.program.walks import parameters_of, parts_of
from torchsan.stream.events import Event

_STEPS = 3


class _Before(NamedTuple):
    """A frozen layer as it was in the first step."""

    layer: weakref.ref
    weight: torch.Tensor
    mean: torch.Tensor
    step: int


class FrozenBatchNorm(Check):
    """A frozen batch norm layer goes on adapting its statistics.

    What a program updates by itself is meant to: a moving average, MoCo's keys. Those layers' weights change, too.
    """

    numbers = (141,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.seen: dict[int, tuple[weakref.ref, _Before]] = {}
        self.judged: set[int] = set()
        self.said = False

    def on_forward(self, event: Event) -> None:
        module = event.subject
        if event.depth or self.said or not event.training or not event.grad or id(module) in self.judged:
            return
        parameters = parameters_of(module)
        accounts = list(self.ledger.of(parameters))
        if not accounts:
            return
        before = self.seen.get(id(module))
        if before is None or before[0]() is not module:
            if not any(p.requires_grad for p in parameters) or estimates(module):
                return
            layer = next((layer for layer in mode_layers(module) if _adapts(layer)), None)
            if layer is None or not _in_frozen_company(module):
                self.judged.add(id(module))
                return
            assert layer.running_mean is not None
            taken = _Before(weakref.ref(layer), layer.weight.detach().clone(), layer.running_mean.clone(), self.ledger.step)
            self.seen[id(module)] = weakref.ref(module), taken
        elif self.ledger.step >= before[1].step + _STEPS:
            self.judged.add(id(module))
            self._judge(event, module, before[1])

    def _judge(self, event: Event, module: nn.Module, before: _Before) -> None:
        layer = before.layer()
        if layer is None or not _adapts(layer) or not torch.equal(layer.weight.detach(), before.weight):
            return
        if torch.equal(layer.running_mean, before.mean):
            return
        self.said = True
        names = [name for name, one in module.named_modules() if _adapts(one)]
        fact = f"{len(names)} frozen layers, the first is `{names[0]}`" if len(names) > 1 else f"the layer `{names[0]}`"
        self.found(141, event, model=name_of(module) or "model", part=names[0].rpartition(".")[0] or names[0], fact=fact)


def _adapts(layer: Any) -> bool:
    """Whether batch norm is frozen, and updates its running statistics all the same."""
    if not isinstance(layer, _BatchNorm) or not layer.training or not layer.track_running_stats or layer.running_mean is None:
        return False
    return layer.weight is not None and not layer.weight.requires_grad and not layer.bias.requires_grad and layer.momentum != 0


def _in_frozen_company(module: nn.Module) -> bool:
    """Whether more than batch norm is frozen."""
    return any(
        p is not None and not p.requires_grad
        for part in parts_of(module) if not isinstance(part, _BatchNorm) for p in part._parameters.values()
    )


CHECKS = (FrozenBatchNorm,)
