"""204: dropout that is on in evaluation mode.

A look at the random state before and after an evaluation-mode forward tells that something drew numbers; only then is
the next such forward watched for the call that did.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from torchsan.check import Check
from torchsan.events import Event
from torchsan.layers import is_dropout, mode_layers
from torchsan.patches import Patches
from torchsan.where import Where, here

_LOOKS = 4  # evaluation forwards of each model that are compared; afterwards one in _EVERY
_EVERY = 64
_NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")


class DropoutInEval(Check):
    """Dropout drops values in evaluation too."""

    numbers = (204,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looks: dict[int, int] = {}
        self.suspects: set[int] = set()
        self.before: Any = None
        self.patches: Patches | None = None
        self.drawn: list[tuple[str, Where | None]] = []

    def before_forward(self, event: Event) -> None:
        if event.depth or event.training:
            return
        module, key = event.subject, id(event.subject)
        count = self.looks[key] = self.looks.get(key, 0) + 1
        if count > _LOOKS and count % _EVERY:
            return
        if any(layer.training and is_dropout(layer) for layer in mode_layers(module)):
            return  # switched on by hand: Monte Carlo dropout
        if key in self.suspects:
            self._listen()
        else:
            self.before = _random_state(module)

    def on_forward(self, event: Event) -> None:
        if event.depth or event.training:
            return
        module = event.subject
        if self.patches is not None:
            self._stop_listening()
            for name, place in self.drawn:
                self.found(204, place, call=f"F.{name}")
            self.drawn = []
        elif self.before is not None:
            after = _random_state(module)
            if any(not torch.equal(a, b) for a, b in zip(self.before, after)):
                self.suspects.add(id(module))
            self.before = None

    def finish(self) -> None:
        self._stop_listening()

    def _listen(self) -> None:
        if self.patches is not None:
            return
        self.patches = Patches()
        for name in _NAMES:
            self.patches.function(F, name, functools.partial(self._reporting, name))
        self.patches.function(F, "scaled_dot_product_attention", self._attention)

    def _stop_listening(self) -> None:
        if self.patches is not None:
            self.patches.undo()
            self.patches = None

    def _reporting(self, name: str, original: Any) -> Any:
        def dropout(*args: Any, **kwargs: Any) -> Any:
            p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
            if (args[2] if len(args) > 2 else kwargs.get("training", name not in _NAMES[4:])) and p:
                self.drawn.append((name, here()))
            return original(*args, **kwargs)

        return dropout

    def _attention(self, original: Any) -> Any:
        def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
            if args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0):
                self.drawn.append(("scaled_dot_product_attention", here()))
            return original(*args, **kwargs)

        return scaled_dot_product_attention


def _random_state(module: nn.Module) -> list[torch.Tensor]:
    """The states of the generators that a forward of `module` would draw from."""
    states = [torch.get_rng_state()]
    parameter = next(module.parameters(), None)
    if parameter is not None and parameter.device.type == "cuda":
        states.append(torch.cuda.get_rng_state(parameter.device))
    return states


CHECKS = (DropoutInEval,)
