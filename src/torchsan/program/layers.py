"""What a model is made of, as far as checks ask: layers that depend on the mode, tensors in arguments and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from torchsan.own import torch, weakref
from torchsan.program.functional_dropout import drops
from torchsan.program.walks import parts_of

# What torch puts around a model, and the attribute that holds it there.
WRAPPERS = {"OptimizedModule": "_orig_mod", "DistributedDataParallel": "module", "DataParallel": "module"}
_modes: dict[int, tuple[weakref.ref, list[weakref.ref]]] = {}


def mode_layers(module: nn.Module) -> list[nn.Module]:
    """The layers of a model that do something else in evaluation: dropout with p > 0, as a layer of its own or in the
    user's code, batch norm, RNNs and attention with dropout."""
    known = _modes.get(id(module))
    if known is None or known[0]() is not module:
        found = [weakref.ref(layer) for layer in parts_of(module) if _depends(layer)]
        known = _modes[id(module)] = (weakref.ref(module, lambda _, key=id(module), pop=_modes.pop: pop(key, None)), found)
    return [layer for ref in known[1] if (layer := ref()) is not None]


def _depends(layer: nn.Module) -> bool:
    if isinstance(layer, _DropoutNd):
        return layer.p > 0
    if isinstance(layer, (nn.RNNBase, nn.MultiheadAttention)):
        return bool(getattr(layer, "dropout", 0))
    return isinstance(layer, _BatchNorm) or drops(layer)


def is_dropout(layer: nn.Module) -> bool:
    """Whether a mode-dependent layer is one that draws random numbers."""
    return not isinstance(layer, _BatchNorm)


def is_a(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """`isinstance`, which may run code of the program's: a value may compute its `__class__`."""
    return issubclass(type(value), kinds)


def held(value: Any) -> list[Any]:
    """What a list, tuple, dict or dataclass holds, in that order, without a call of any code of the program's."""
    if is_a(value, dict):
        return list(dict.values(value))
    if is_a(value, list):
        return list.copy(value)
    if is_a(value, tuple):
        return list(tuple.__iter__(value))
    if any("__dataclass_fields__" in cls.__dict__ for cls in type(value).__mro__):
        try:
            return list(object.__getattribute__(value, "__dict__").values())
        except AttributeError:  # it has slots
            pass
    return []


def tensors(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """The tensors in a value: itself, or inside lists, tuples, dicts and plain output objects, a few levels deep."""
    if is_a(value, torch.Tensor):
        yield value
    elif depth:
        for item in held(value)[:64]:
            yield from tensors(item, depth - 1)
