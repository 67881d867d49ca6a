"""What a model is made of, as far as checks ask: layers that depend on the mode, tensors in arguments and outputs."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

# What torch puts around a model, and the attribute that holds it there.
WRAPPERS = {"OptimizedModule": "_orig_mod", "DistributedDataParallel": "module", "DataParallel": "module"}
_modes: dict[int, tuple[weakref.ref, list[weakref.ref]]] = {}


def mode_layers(module: nn.Module) -> list[nn.Module]:
    """The layers of a model that do something else in evaluation: dropout with p > 0, batch norm, RNNs with dropout."""
    known = _modes.get(id(module))
    if known is None or known[0]() is not module:
        found = [weakref.ref(layer) for layer in module.modules() if _depends(layer)]
        known = _modes[id(module)] = (weakref.ref(module, lambda _, key=id(module): _modes.pop(key, None)), found)
    return [layer for ref in known[1] if (layer := ref()) is not None]


def _depends(layer: nn.Module) -> bool:
    if isinstance(layer, _DropoutNd):
        return layer.p > 0
    return isinstance(layer, _BatchNorm) or bool(getattr(layer, "dropout", 0) and isinstance(layer, nn.RNNBase))


def is_dropout(layer: nn.Module) -> bool:
    """Whether a mode-dependent layer is one that draws random numbers."""
    return not isinstance(layer, _BatchNorm)


def tensors(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """The tensors in a value: itself, or inside lists, tuples, dicts and plain output objects, a few levels deep."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth:
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, (list, tuple)):
            value = getattr(value, "__dict__", {}).values() if hasattr(value, "__dataclass_fields__") else ()
        for item in list(value)[:64]:
            yield from tensors(item, depth - 1)
