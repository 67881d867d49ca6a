"""204: dropout that is on in evaluation mode; 505: because the layer is built anew in every forward.

The first evaluation-mode forward of a model is watched for calls of dropout: a program may make one alone. Of later ones
the random state before and after tells whether something drew numbers; only then is the next one watched so.
"""

from __future__ import annotations

import sys
from typing import Any

from torch import nn
from torch.compiler import is_compiling

from torchsan.check import Check
from torchsan.own import F, functools, torch
from torchsan.program.layers import is_dropout, mode_layers
from torchsan.program.naming import name_of
from torchsan.program.where import _OURS, Where, here, kind_of
from torchsan.stream.brief_patches import Brief
from torchsan.stream.events import Event
from torchsan.stream.patches import Patches

_LOOKS = 4  # evaluation forwards of each model that are compared; afterwards one in _EVERY
_EVERY = 64
_MODELS = 8  # whose first evaluation forward is watched
_NAMES = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
_OF_TORCH = ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
_OFF = ("F.alpha_dropout", "F.feature_alpha_dropout")  # these are off where nothing is said


_WORDS = {
    "torch": (
        "`{call}` drops values in evaluation too: its last argument is True",
        "pass `self.training` as the last argument, or use an `nn.Dropout` layer",
    ),
    "F.scaled_dot_product_attention": (
        "`{call}` drops values in evaluation too: `dropout_p` holds in any mode",
        "pass `dropout_p=self.dropout if self.training else 0.0`",
    ),
}


class DropoutInEval(Check):
    """Dropout drops values in evaluation too."""

    numbers = (204, 505)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.models = 0  # that were evaluated
        self.looks: dict[int, int] = self.ledger.while_alive({})
        self.suspects: set[int] = set()
        self.before: Any = None
        self.replaced = Brief()
        self.drawn: list[tuple[str, Where | None, nn.Module | None]] = []

    def before_forward(self, event: Event) -> None:
        if event.depth:
            return
        self.replaced.end()  # the forward before was interrupted
        if event.training:
            return
        module, key = event.subject, id(event.subject)
        count = self.looks[key] = self.looks.get(key, 0) + 1
        self.models += count == 1
        if count > _LOOKS and count % _EVERY and not self.thorough:
            return
        if any(layer.training and is_dropout(layer) for layer in mode_layers(module)):
            return  # switched on by hand: Monte Carlo dropout
        self.drawn = []
        if key in self.suspects:
            self.replaced.begin(self._replace)
        elif count > 1 or self.models > _MODELS or not self.replaced.begin(self._replace):
            self.before = _random_state(module)

    def on_forward(self, event: Event) -> None:
        if event.depth or event.training:
            return
        module = event.subject
        if self.replaced.stands:
            self.replaced.end()
            drawn, self.drawn = self.drawn, []
            known = {id(layer) for layer in module.modules()}
            for name, place, layer in drawn:
                if layer is None or id(layer) in known:
                    self.found(204, place, call=name, words=_WORDS.get(name.partition(".")[0], _WORDS.get(name)))
                else:
                    kind = type(layer).__name__
                    self.found(505, place, call=f"nn.{kind}(...)", layer=kind, model=name_of(module))
        elif self.before is not None:
            after = _random_state(module)
            if any(not torch.equal(a, b) for a, b in zip(self.before, after)):
                self.suspects.add(id(module))
            self.before = None

    def close(self) -> None:
        self.replaced.end()

    def _replace(self, patches: Patches) -> None:
        with patches.together():
            patches.functions(F, {name: functools.partial(self._reporting, f"F.{name}") for name in _NAMES})
            patches.functions(torch, {name: functools.partial(self._reporting, f"torch.{name}") for name in _OF_TORCH})
            patches.function(F, "scaled_dot_product_attention", self._attention)

    def _reporting(self, name: str, original: Any) -> Any:
        note = self.safely(self._note)

        def dropout(*args: Any, **kwargs: Any) -> Any:
            if not is_compiling():
                note(name, args, kwargs, sys._getframe(1))
            return original(*args, **kwargs)

        return dropout

    def _note(self, name: str, args: tuple, kwargs: dict, caller: Any) -> None:
        p = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
        on = kwargs.get("training", kwargs.get("train", name not in _OFF)) if len(args) < 3 else args[2]
        if on and p:
            owner = caller.f_locals.get("self") if caller.f_code.co_name == "forward" else None
            layer = owner if isinstance(owner, nn.Module) and kind_of(caller.f_code.co_filename) == _OURS else None
            self.drawn.append((name, here(), layer))

    def _attention(self, original: Any) -> Any:
        note = self.safely(self._note_attention)

        def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
            if not is_compiling():
                note(args, kwargs)
            return original(*args, **kwargs)

        return scaled_dot_product_attention

    def _note_attention(self, args: tuple, kwargs: dict) -> None:
        if args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0):
            self.drawn.append(("F.scaled_dot_product_attention", here(), None))


def _random_state(module: nn.Module) -> list[torch.Tensor]:
    """The states of the generators that a forward of `module` would draw from."""
    states = [torch.get_rng_state()]
    parameter = next(module.parameters(), None)
    if parameter is not None and parameter.device.type == "cuda":
        states.append(torch.cuda.get_rng_state(parameter.device))
    return states


CHECKS = (DropoutInEval,)
