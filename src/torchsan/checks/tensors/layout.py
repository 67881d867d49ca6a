"""407: the same non-contiguous tensor goes into several layers, in every step.

Hooks on layers cost on every call, so they are put on for two forwards of each model only, and taken off again.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.compiled import is_compiled
from torchsan.program.walks import named_parts
from torchsan.program.where import Where, here
from torchsan.stream.events import Event

_FORWARDS = (2, 3)  # training forwards of a model that are looked into, counted from 1
_MOST = 1000  # layers that are looked at, the first ones: hooks on more take longer than the forward
_LARGE = 1 << 14  # elements below which a copy costs nothing to speak of
_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.LayerNorm, nn.GroupNorm)


class NonContiguous(Check):
    """A non-contiguous tensor goes into several layers in every step."""

    numbers = (407,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.count: dict[int, int] = self.ledger.while_alive({})
        self.handles: list[Any] = []
        self.entered: dict[tuple, list[tuple[str, Where | None]]] = {}
        self.before: dict[int, set[tuple[str, ...]]] = self.ledger.while_alive({})

    def before_forward(self, event: Event) -> None:
        if event.depth or not (event.training and event.grad):
            return
        module = event.subject
        count = self.count[id(module)] = self.count.get(id(module), 0) + 1
        if count in _FORWARDS and not is_compiled(module):  # hooks on layers would make compiled code compile again
            self.entered = {}
            layers = [(name, layer) for name, layer in named_parts(module) if isinstance(layer, _LAYERS)]
            names = {id(layer): name for name, layer in layers}
            hook = self.safely(self._hook(names))
            self.handles.extend(layer.register_forward_pre_hook(hook) for _, layer in layers[:_MOST])

    def _hook(self, names: dict[int, str]) -> Any:
        entered = self.entered

        def hook(layer: nn.Module, args: tuple) -> None:
            given = args[0] if args else None
            if isinstance(given, torch.Tensor) and given.numel() >= _LARGE and not _ordered(given):
                name = names.get(id(layer), "")
                entered.setdefault((given.data_ptr(), given.shape, given.stride()), []).append((name, here()))

        return hook

    def on_forward(self, event: Event) -> None:
        if event.depth or not self.handles:
            return
        self._unhook()
        module = event.subject
        shared = {key: layers for key, layers in self.entered.items() if len({name for name, _ in layers}) > 1}
        names = {tuple(name for name, _ in layers) for layers in shared.values()}
        for key, layers in shared.items():
            group = tuple(name for name, _ in layers)
            if group in self.before.get(id(module), ()):
                fact = f"{', '.join(group[:4])} receive {tuple(key[1])} with strides {tuple(key[2])}"
                self.found(407, layers[0][1], key=group, call=group[0], fact=fact)
        self.before[id(module)] = names
        self.entered = {}

    def close(self) -> None:
        self._unhook()

    def _unhook(self) -> None:
        while self.handles:
            self.handles.pop().remove()


def _ordered(value: torch.Tensor) -> bool:
    """Contiguous in any memory format that kernels know; broadcast (stride 0) values are left to others."""
    if value.is_contiguous() or 0 in value.stride():
        return True
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return value.dim() in formats and value.is_contiguous(memory_format=formats[value.dim()])


CHECKS = (NonContiguous,)
