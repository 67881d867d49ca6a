"""203 of a model with adapters: the body that they are put into stays in evaluation mode, and its dropout off.

`from_pretrained` gives a model in evaluation mode, and what PEFT puts around it is in training mode as any new module: the mode
of the outermost one tells nothing, and which optimizer has the adapters does not matter.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.checks.modes.train_and_eval import FROM_THE_START
from torchsan.own import torch, weakref
from torchsan.program.layers import is_dropout, mode_layers
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_NEVER = 5  # backwards of a model whose dropout never was on


class AdaptersInEval(Check):
    """Adapters are trained in a model whose dropout is off from the start."""

    numbers = (203,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.forward: Event | None = None
        self.models: dict[int, list[Any]] = {}  # by model: itself, and its backwards so far; -1 where its dropout was on

    def on_forward(self, event: Event) -> None:
        module = event.subject
        if event.depth or not event.grad or not type(module).__module__.startswith("peft."):
            return
        entry = self.models.get(id(module))
        if entry is None or entry[0]() is not module:
            entry = self.models[id(module)] = [weakref.ref(module), 0]
        if entry[1] < 0:
            return
        dropout = [layer for layer in mode_layers(module) if is_dropout(layer)]
        if not dropout or any(layer.training for layer in dropout):
            entry[1] = -1
            return
        event.where()
        self.forward = event

    def on_backward(self, event: Event) -> None:
        forward, self.forward = self.forward, None
        module = None if forward is None else forward.subject
        entry = None if module is None else self.models.get(id(module))
        if entry is None or not _trains(module):
            return
        entry[1] += 1
        if entry[1] == _NEVER:
            layers = sorted({type(layer).__name__ for layer in mode_layers(module) if is_dropout(layer)})
            fact = f"{_NEVER} backwards, and {', '.join(layers)} never on"
            self.found(203, forward, model=name_of(module), fact=fact, words=FROM_THE_START)


def _trains(module: nn.Module) -> bool:
    """Whether parameters of a model have got gradients."""
    return any(p.requires_grad and isinstance(p.grad, torch.Tensor) for p in module.parameters())


CHECKS = (AdaptersInEval,)
