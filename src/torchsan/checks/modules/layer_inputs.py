"""510, 518, 525: layers that are given another layout, or fewer samples, than they compute with.

Hooks on layers cost on every call, so they are put on for the first two training forwards of each model, and only on
layers that can be wrong in this way.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.compiled import is_compiled
from torchsan.program.layers import tensors
from torchsan.program.naming import name_of
from torchsan.program.walks import named_parts
from torchsan.program.where import here
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds

_FORWARDS = 2  # training forwards of a model that are looked into; what is said of batches must hold in all of them
# By layer and number of dimensions: what happens instead.
_INSTEAD = {
    ("Dropout1d", 2): "takes (N, F) for one example of (C, L), and drops whole examples",
    ("Dropout2d", 2): "drops single values there, as `Dropout` does",
    ("Dropout3d", 2): "drops whole rows there, examples of the batch",
    ("Dropout3d", 3): "drops along the first two dimensions there",
    ("InstanceNorm1d", 2): "takes (N, F) for one example of (C, L), and normalizes each row over its features",
}
_USE = {"InstanceNorm1d": "`LayerNorm` or `BatchNorm1d`"}
_FIRST_IS_BATCH = ("Dropout1d", "InstanceNorm1d")  # for these, two dimensions may well be one example


class LayerInputs(Check):
    """A layer is given another layout, or fewer samples, than it computes with."""

    numbers = (510, 518, 525)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looks: dict[int, int] = self.ledger.while_alive({})
        self.done = WeakIds()
        self.handles: list[Any] = []
        self.batch_size: int | None = None  # of the loader that gave the last batch
        self.samples = 0  # in the input of the forward that is looked into
        self.batches_read: dict[int, int] = {}  # by layer of steps: forwards in which it was fed batches first
        self.norm: nn.Module | None = None  # one that was given a single sample in this forward
        self.single: dict[int, int] = self.ledger.while_alive({})  # by model: forwards in which that was so

    def on_loader_batch(self, event: Event) -> None:
        size = getattr(event.subject, "batch_size", None)
        self.batch_size = size if isinstance(size, int) else None

    def before_forward(self, event: Event) -> None:
        module = event.subject
        if event.depth or not (event.training and event.grad) or module in self.done:
            return
        self._unhook()
        look = self.looks[id(module)] = self.looks.get(id(module), 0) + 1
        # Hooks on layers would make compiled code compile again.
        parts = [] if is_compiled(module) else [(name, part) for name, part in named_parts(module) if _may_err(part)]
        if look == _FORWARDS or not parts:
            self.done.add(module)
        self.norm, first = None, next(tensors((event.args, event.kwargs)), None)
        self.samples = first.shape[0] if first is not None and first.dim() else 0
        for name, part in parts:
            self.handles.append(part.register_forward_pre_hook(self.safely(self._hook(name)), with_kwargs=True))

    def on_forward(self, event: Event) -> None:
        if event.depth or not self.handles:
            return
        self._unhook()
        norm, self.norm = self.norm, None
        count = self.single[id(event.subject)] = self.single.get(id(event.subject), 0) + (norm is not None)
        if norm is not None and count == _FORWARDS:
            call = f"{name_of(event.subject) or 'model'}(...)"
            self.found(518, event, call=call, norm=type(norm).__name__, fact=f"in each of {_FORWARDS} forwards")

    def close(self) -> None:
        self._unhook()

    def _hook(self, name: str) -> Any:
        def hook(layer: nn.Module, args: tuple, kwargs: dict) -> None:
            given = next(tensors((args, kwargs), 2), None)
            if given is None:
                return
            if isinstance(layer, _BatchNorm):
                if self.samples == given.shape[0] == 1:
                    self.norm = layer
            elif isinstance(layer, (_DropoutNd, nn.InstanceNorm1d)):
                self._rank(name, layer, given)
            else:
                self._steps(name, layer, given)

        return hook

    def _rank(self, name: str, layer: nn.Module, given: torch.Tensor) -> None:
        kind = type(layer).__name__
        instead = _INSTEAD.get((kind, given.dim()))
        if instead is None or not layer.training:
            return
        size = given.shape[0]
        if kind in _FIRST_IS_BATCH and (size < 2 or size != self.samples or size == given.shape[1]):
            return
        fact = f"`{name or kind}` gets {list(given.shape)}"
        roles = {"layer": kind, "rank": given.dim(), "instead": instead, "use": _USE.get(kind, "`Dropout`")}
        self.found(525, here(), fact=fact, **roles)

    def _steps(self, name: str, layer: nn.Module, given: torch.Tensor) -> None:
        """(batch, steps, features) in a layer that reads steps first. A dimension of one is a batch or a step added on
        purpose, and equal sizes tell nothing."""
        size = self.batch_size
        if given.dim() != 3 or size is None or size < 2 or given.shape[0] != size or given.shape[1] in (1, size):
            return
        count = self.batches_read[id(layer)] = self.batches_read.get(id(layer), 0) + 1
        if count == _FORWARDS:
            kind = type(layer).__name__
            what = f"reads the {size} samples of a batch as steps"
            fact = f"its input is {list(given.shape)}, the loader's batch_size {size}"
            self.found(510, here(), call=name or kind, what=what, layer=kind, fact=fact)

    def _unhook(self) -> None:
        while self.handles:
            self.handles.pop().remove()


def _may_err(layer: nn.Module) -> bool:
    if isinstance(layer, _BatchNorm):
        # Without running statistics it is an instance norm, by choice; SyncBatchNorm computes over all processes.
        return layer.training and layer.track_running_stats and not isinstance(layer, nn.SyncBatchNorm)
    if isinstance(layer, _DropoutNd):
        return layer.p > 0 and type(layer).__name__.endswith("d")
    if isinstance(layer, (nn.RNNBase, nn.MultiheadAttention)):
        return not layer.batch_first
    return isinstance(layer, nn.InstanceNorm1d)


CHECKS = (LayerInputs,)
