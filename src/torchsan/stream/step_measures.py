"""Measures of one optimizer's step: gradient norms and the size of the update, by layer, in few calls for all of them.

Nothing here waits for the device: what is measured is asked for late (`late_values.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from torch import nn
from torch.nn.parameter import is_lazy

from torchsan.own import math, torch
from torchsan.program.layers import WRAPPERS
from torchsan.program.walks import named_parts
from torchsan.program.where import Where

_SAMPLE = 2048  # values of each weight that are compared before and after a step
# On the CPU, from so many tensors on, those of up to so many values are measured together, some thousands at once.
_CROWD, _SMALL, _AT_ONCE = 256, 1024, 4096
_PLAIN = (torch.Tensor, nn.Parameter)


class Layer(NamedTuple):
    """Parameters that one module owns, by their places in the optimizer's list; `weights` are those with rows and
    columns."""

    name: str
    parameters: tuple[int, ...]
    weights: tuple[int, ...]
    size: int


class Look(NamedTuple):
    """What was measured at a step of an optimizer. By layer: the L2 norm of its gradients (None: it had none); over a
    sample of its weights (None: not measured) their root mean square, and the size of the update against that of the
    weights.

    `step` counts from 0. `rates` are the learning rates of the layers' groups where these are plain numbers. `at` and
    `backward` are the lines of the step and of the last backward before it.
    """

    account: Any
    optimizer: str
    step: int
    layers: list[Layer]
    gradients: list[float | None]
    weights: list[float | None]
    ratios: list[float | None]
    rates: list[float | None]
    at: Where | None
    backward: Where | None
    norm: float = 0.0  # the L2 norm of all gradients


class Measurement:
    """The measures of one step, while it is made.

    Args:
        params: of the optimizer; begun before its step.
        layers: made of `params`; `chosen` are the places of those of which more than the sum is wanted.
        scale: what the gradients are multiplied by, a tensor with one element; None for 1.

    Raises:
        RuntimeError, NotImplementedError: a device that has no such operation.
    """

    def __init__(
        self, params: Sequence[torch.Tensor], layers: Sequence[Layer], chosen: Sequence[int],
        scale: torch.Tensor | None = None,
    ):
        self._layers, self._chosen = layers, chosen
        found = [(index, grad) for index, p in enumerate(params) if (grad := p.grad) is not None and measurable(grad)]
        self._graded = [index for index, _ in found]
        grads = [grad for _, grad in found]
        self._sampled: list[int] = []
        self._sizes: dict[int, int] = {}
        self._norms = self._before = None
        if len({grad.device for grad in grads}) != 1:
            return
        self._norms = norms(grads)
        if scale is not None:
            self._norms = self._norms / scale.to(self._norms.device)
        graded = set(self._graded)
        weights = [index for at in chosen for index in layers[at].weights if index in graded and measurable(params[index])]
        samples = [(index, taken) for index in weights if (taken := sample(params[index])) is not None]
        self._sampled = [index for index, _ in samples]
        if samples:
            self._before = torch.cat([taken for _, taken in samples])

    def finish(self, params: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """All that was measured as one vector, after the step; None where there is nothing."""
        if self._norms is None or self._before is None:
            return self._norms
        samples: list[Any] = [sample(params[index]) for index in self._sampled]
        sizes = [taken.numel() for taken in samples]
        self._sizes = dict(zip(self._sampled, sizes))
        change = torch.cat(samples) - self._before
        return torch.cat([self._norms, norms(self._before.split(sizes)), norms(change.split(sizes))])

    def by_layer(self, values: list[float]) -> tuple[list[float | None], list[float | None], list[float | None]]:
        """Of the vector's values, what `Look` has by layer: gradients, weights, ratios."""
        ends = len(self._graded), len(self._graded) + len(self._sampled)
        gradients = dict(zip(self._graded, values[:ends[0]]))
        weights = dict(zip(self._sampled, values[ends[0]:ends[1]]))
        changes = dict(zip(self._sampled, values[ends[1]:]))
        of: list[list[float | None]] = [[None] * len(self._layers) for _ in range(3)]
        for at in self._chosen:
            parameters = self._layers[at].parameters
            weight, change = together(map(weights.get, parameters)), together(map(changes.get, parameters))
            of[0][at] = together(map(gradients.get, parameters))
            if weight is not None:
                of[1][at] = weight / math.sqrt(sum(self._sizes.get(index, 0) for index in parameters))
            if change is not None and weight:
                of[2][at] = change / weight
        return of[0], of[1], of[2]

    def norm(self, values: list[float]) -> float:
        """The L2 norm of all gradients."""
        return together(values[:len(self._graded)]) or 0.0


def measurable(value: Any) -> bool:
    """Whether a tensor has values of its own here that can be looked at: dense and real, no shard, no fake."""
    return (
        type(value) in _PLAIN and value.layout is torch.strided and value.is_floating_point() and not value.is_meta
        and value.numel() > 0
    )


def norms(values: Sequence[torch.Tensor]) -> torch.Tensor:
    """The L2 norms of tensors of one device, in float32, as one vector."""
    if {value.dtype for value in values} != {torch.float32}:
        return torch.stack([torch.linalg.vector_norm(value, dtype=torch.float32) for value in values])
    if len(values) < _CROWD or values[0].device.type != "cpu":
        return torch.stack(torch._foreach_norm(list(values)))
    return _norms_by_size(values)


def _norms_by_size(values: Sequence[torch.Tensor]) -> torch.Tensor:
    """The same on the CPU, where `_foreach_norm` makes a call for each tensor: small ones of a size lie side by side."""
    places: dict[int, list[int]] = {}
    for at, value in enumerate(values):
        size = value.numel()
        places.setdefault(size if size <= _SMALL else 0, []).append(at)
    found = values[0].new_empty(len(values))
    for size, group in places.items():
        for start in range(0, len(group), _AT_ONCE):
            some = group[start:start + _AT_ONCE]
            same = [values[at] for at in some]
            if size:
                norms_of_some = torch.linalg.vector_norm(_side_by_side(same), dim=1)
            else:
                norms_of_some = torch.stack(torch._foreach_norm(same))
            found[torch.tensor(some, device="cpu")] = norms_of_some
    return found


def _side_by_side(values: Sequence[torch.Tensor]) -> torch.Tensor:
    """Tensors of one size as rows. Those of one shape are put together in a quarter of the time."""
    try:
        rows = torch.cat(values)
    except RuntimeError:  # of several shapes, or with no dimension
        rows = torch._utils._flatten_dense_tensors(values)
    return rows.reshape(len(values), -1)


def sample(value: torch.Tensor) -> torch.Tensor | None:
    """Values from all over a tensor, in a fixed order, as a view. None where it has gaps in memory or overlaps."""
    value = value.detach()
    if not (value.is_contiguous() or torch.ops.aten.is_non_overlapping_and_dense(value)):
        return None
    every = max(1, value.numel() // _SAMPLE) | 1  # odd, so that it does not keep to one column
    return torch.as_strided(value, (-(-value.numel() // every),), (every,))


def layers_of(params: Sequence[torch.Tensor], roots: Iterable[nn.Module]) -> list[Layer]:
    """The layers that own `params`, in the order of the models: named by their path in the largest root that has them,
    with the root's class in front where there are several roots."""
    bare = [_unwrapped(root) for root in roots]
    trees = [
        (root, [(path, p) for path, part in named_parts(root) for p in part._parameters.values() if p is not None])
        for root in {id(root): root for root in bare}.values()
    ]
    trees.sort(key=lambda tree: -len(tree[1]))
    ids = {id(p): index for index, p in enumerate(params)}
    owned: dict[tuple[int, str], list[int]] = {}
    used: dict[int, str] = {}
    left = set(ids)
    for at, (root, named) in enumerate(trees):
        for path, p in named:
            if id(p) in left:
                left.discard(id(p))
                used[at] = type(root).__name__
                owned.setdefault((at, path), []).append(ids[id(p)])
    found = []
    for (at, path), indices in owned.items():
        name = path or used[at] if len(used) == 1 else f"{used[at]}.{path}" if path else used[at]
        found.append(_layer(name, indices, params))
    found.extend(_layer(f"parameter {ids[key]}", [ids[key]], params) for key in sorted(left, key=ids.__getitem__))
    return found


def _layer(name: str, indices: list[int], params: Sequence[torch.Tensor]) -> Layer:
    made = [index for index in indices if not is_lazy(params[index])]
    weights = tuple(index for index in made if params[index].dim() >= 2)
    return Layer(name, tuple(indices), weights, sum(params[index].numel() for index in made))


def _unwrapped(module: nn.Module) -> nn.Module:
    while (inside := WRAPPERS.get(type(module).__name__)) and isinstance(getattr(module, inside, None), nn.Module):
        module = getattr(module, inside)
    return module


def together(values: Iterable[float | None]) -> float | None:
    """The L2 norm of a whole from the norms of its parts; None where no part has one."""
    known = [value for value in values if value is not None]
    return math.sqrt(sum(value * value for value in known)) if known else None
