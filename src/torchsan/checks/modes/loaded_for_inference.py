"""207: weights are loaded for inference, and the model runs in training mode."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchsan.check import Check
from torchsan.checks.modes.train_and_eval import estimates
from torchsan.own import torch, weakref
from torchsan.program.layers import mode_layers, tensors
from torchsan.program.naming import name_of
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds


class _Use(NamedTuple):
    """The first forward of a loaded model in training mode."""

    event: Event
    load: Event
    name: str
    layers: str
    given: tuple[weakref.ref, int, torch.Size]  # its input: who holds its memory, and where in it


class LoadedForUse(Check):
    """Weights are loaded for inference, and the model stays in training mode.

    Judged at the end, and only in programs that train nothing. A model that is called again with the same input, or in
    evaluation mode too, is meant to drop values: an estimate of its uncertainty.
    """

    numbers = (207,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.loads: dict[int, Event] = {}
        self.uses: dict[int, _Use] = {}
        self.meant: set[int] = set()
        self.watch.loaded = WeakIds()

    def before_load(self, event: Event) -> None:
        event.where()

    def on_load(self, event: Event) -> None:
        if not self.ledger.accounts:
            self.loads[id(event.subject)] = event
            self.watch.loaded.add(event.subject)

    def on_optimizer_create(self, event: Event) -> None:
        self._trains()

    def on_backward(self, event: Event) -> None:
        if self.loads:
            self._trains()

    def _trains(self) -> None:
        self.loads.clear()
        self.uses.clear()
        self.watch.loaded.clear()

    def on_forward(self, event: Event) -> None:
        if event.depth or not self.loads or event.subject not in self.watch.loaded:
            return
        module, key = event.subject, id(event.subject)
        if event.grad or key in self.meant or event.output is None:
            return
        given = next(tensors((event.args, event.kwargs)), None)
        use = self.uses.get(key)
        if not event.training or (use is not None and given is not None and _is_same(use.given, given)):
            self.uses.pop(key, None)
            self.meant.add(key)
        elif use is None and given is not None:
            layers = sorted({type(layer).__name__ for layer in mode_layers(module) if layer.training})
            if layers and not estimates(module):
                event.where()
                name = name_of(module) or "model"
                self.uses[key] = _Use(event, self.loads[key], name, ", ".join(layers), _memory(given))

    def finish(self) -> None:
        for use in self.uses.values():
            related = ((use.load, "its weights are loaded here"),)
            fact = f"in training mode: {use.layers}"
            self.found(207, use.event, call=f"{use.name}(...)", model=use.name, fact=fact, related=related)


def _memory(given: torch.Tensor) -> tuple[weakref.ref, int, torch.Size]:
    return weakref.ref(_owner(given)), given.data_ptr(), given.shape


def _owner(given: torch.Tensor) -> torch.Tensor:
    """The tensor that a view is of: `rows[0]` is another tensor each time it is written."""
    base = None if given.is_inference() else given._base
    return given if base is None else base


def _is_same(before: tuple[weakref.ref, int, torch.Size], given: torch.Tensor) -> bool:
    owner, address, shape = before
    return owner() is _owner(given) and address == given.data_ptr() and shape == given.shape


CHECKS = (LoadedForUse,)
