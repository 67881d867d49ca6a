"""515: units of a layer that begin equal, and stay equal."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.source import assigned, users_class
from torchsan.program.walks import named_parts
from torchsan.program.where import Where
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds

_STEPS = 2  # steps after which units that began equal must differ: random weights behind them suffice for that
_LONG = 64  # steps that a layer without any gradient is waited for
_ROUNDING = 1e-6  # of the largest weight: kernels may add up rows in different orders
_WORDS = (
    "the {units} units of `{layer}` began with the same weights and still have the same: they compute one thing, and "
    "get one gradient",
    "draw the weights: `nn.init.kaiming_normal_` or `nn.init.xavier_uniform_`; a constant is right for biases, norms",
)


class SymmetricWeights(Check):
    """All units of a layer start with the same weights, and training does not tell them apart.

    A constant alone proves nothing: where the next layer's weights differ, so do the gradients. What is told here has
    been seen, after steps with gradients that are not zero.
    """

    numbers = (515,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looked = WeakIds()
        self.equal: list[tuple[weakref.ref, str, Where | None]] = []

    def before_forward(self, event: Event) -> None:
        root = event.subject
        if event.depth or not (event.training and event.grad) or root in self.looked:
            return
        self.looked.add(root)
        for path, layer in named_parts(root):
            weight = _weight(layer)
            if weight is not None and _rows_equal(weight):
                self.equal.append((weakref.ref(weight), path or type(layer).__name__, self._place(root, path, event)))

    @staticmethod
    def _place(root: nn.Module, path: str, event: Event) -> Where | None:
        """Where the user's class makes the layer, or else the first forward."""
        parent, _, name = path.rpartition(".")
        owner = root.get_submodule(parent) if path else None
        made = assigned(owner, name) if owner is not None and users_class(owner) is not None else None
        return made or event.where()

    def on_optimizer_step(self, event: Event) -> None:
        if not self.equal:
            return
        account = self.ledger.account(event.subject)
        if account.steps < _STEPS:
            return
        still = []
        for entry in self.equal:
            weight = entry[0]()
            if weight is None or id(weight) not in account.ids:
                still.append(entry)
            elif weight.grad is None or not bool(weight.grad.any()):
                # Behind it all weights may be equal too, and the first gradients cancel out.
                still += [entry] if account.steps < _LONG else []
            elif _rows_equal(weight, _ROUNDING):
                roles = {"units": weight.shape[0], "layer": entry[1]}
                fact = f"after {account.steps} steps, with gradients"
                self.found(515, entry[2], key=entry[1], fact=fact, words=_WORDS, **roles)
        self.equal = still if any(ref() is not None for ref, _, _ in still) else []


def _weight(layer: nn.Module) -> torch.Tensor | None:
    """The weight of a layer in which units with equal rows compute the same."""
    if not isinstance(layer, (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)) or getattr(layer, "groups", 1) > 1:
        return None
    weight = layer._parameters.get("weight")
    if weight is None or isinstance(weight, nn.parameter.UninitializedTensorMixin) or not weight.requires_grad:
        return None
    plain = type(weight) is nn.Parameter and weight.layout is torch.strided and not weight.is_meta
    return weight if plain and weight.shape[0] > 1 and weight.numel() else None


def _rows_equal(weight: torch.Tensor, rounding: float = 0.0) -> bool:
    with torch.no_grad():
        weight = weight.detach()
        if not rounding and not torch.equal(weight[0], weight[1]):
            return False
        limit = weight[0].abs().max() * rounding
        return bool((weight[0] - weight[1]).abs().max() <= limit) and bool((weight - weight[:1]).abs().max() <= limit)


CHECKS = (SymmetricWeights,)
