"""What a model is made of, as far as checks ask: layers that depend on the mode, tensors in arguments and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from torchsan.own import torch, weakref
from torchsan.program.functional_dropout import drops

# What torch puts around a model, and the attribute that holds it there.
WRAPPERS = {"OptimizedModule": "_orig_mod", "DistributedDataParallel": "module", "DataParallel": "module"}
_modes: dict[int, tuple[weakref.ref, list[weakref.ref]]] = {}


def parts_of(root: nn.Module) -> list[nn.Module]:
    """A model and all modules in it, in the order of `root.modules()`, in a tenth of the time."""
    found: dict[int, nn.Module] = {}
    _gather(root, found)
    return list(found.values())


def _gather(module: nn.Module, found: dict[int, nn.Module]) -> None:
    found[id(module)] = module
    for child in module._modules.values():
        if child is not None and id(child) not in found:
            if child._modules:
                _gather(child, found)
            else:
                found[id(child)] = child


def named_parts(root: nn.Module) -> list[tuple[str, nn.Module]]:
    """All of `root.named_modules()`."""
    found: list[tuple[str, nn.Module]] = []
    _gather_named("", root, found, set())
    return found


def _gather_named(path: str, module: nn.Module, found: list[tuple[str, nn.Module]], seen: set[int]) -> None:
    found.append((path, module))
    seen.add(id(module))
    for name, child in module._modules.items():
        if child is not None and id(child) not in seen:
            here = f"{path}.{name}" if path else name
            if child._modules:
                _gather_named(here, child, found, seen)
            else:
                found.append((here, child))
                seen.add(id(child))


def parameters_of(root: nn.Module) -> list[torch.Tensor]:
    """All parameters of a model: `root.parameters()`, in a tenth of the time."""
    every = [p for module in parts_of(root) if module._parameters for p in module._parameters.values() if p is not None]
    return list({id(p): p for p in every}.values())


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
