"""Column against row: an operation in which each of a model's N predictions, (N, 1), meets each of N targets, (N,).

Told only where both are certain: the column is what a model gave, as it is or compared, rounded, cast (not made by
`[:, None]`, `unsqueeze`, `view`, as pairs that are meant are), and the row comes from the batch of a loader.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from torchsan.own import torch
from torchsan.stream.weak_ids import WeakIds

# Methods of Tensor, and functions of torch where there is one of that name.
_PAIRED = frozenset("__eq__ __ne__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ eq ne sub mul div".split())
_KEEPS = frozenset(
    "__gt__ __ge__ __lt__ __le__ gt ge lt le sigmoid round float double long int bool to cuda cpu type clone detach "
    "abs exp tanh sign clamp logical_not softmax log_softmax".split()
)
_PICKS = frozenset("argmax argmin max min topk".split())
# Not __getitem__: a class that has one of Python's is a sequence, and `torch.tensor([value])` would ask for its length.
NAMES = tuple(sorted(_PAIRED | _KEEPS | _PICKS))
_PLAIN = (torch.Tensor, nn.Parameter)
_KEPT = 1024  # tensors that are remembered


class Pairs:
    """Hears calls between models; knows which tensors are columns that a model gave, and which came in a batch."""

    def __init__(self) -> None:
        self._columns = WeakIds()  # these very objects: `column.squeeze(1)[:, None]` is another, and the program's own
        self._batch: dict[int, StorageWeakRef] = {}

    def batch(self, values: Iterable[torch.Tensor]) -> None:
        """What a loader gave."""
        for value in values:
            if type(value) in _PLAIN:
                _add(self._batch, value)

    def made_by_a_model(self, outputs: Iterable[torch.Tensor]) -> None:
        """What a model gave."""
        for value in outputs:
            if type(value) in _PLAIN:
                self._batch.pop(value.untyped_storage()._cdata, None)  # a model that gives its input on
                self._of_model(value)

    def look(self, name: str, args: tuple, result: Any) -> int | None:
        """One of `NAMES` was called, outside of all models. N, where it pairs all with all."""
        given = [value for value in args if type(value) in _PLAIN]
        if not given:
            return None
        if name in _PAIRED:
            return _pairs(self, given) if len(given) == 2 else None
        value = given[0]
        for out in result if isinstance(result, tuple) else (result,):
            if type(out) not in _PLAIN:
                continue
            if name in _KEEPS and out.shape == value.shape:
                if value in self._columns:
                    self._columns.add(out)
                elif _holds(self._batch, value):
                    _add(self._batch, out)
            elif name in _PICKS and not out.is_floating_point() and value in self._columns:
                self._of_model(out)
        return None

    def _of_model(self, value: torch.Tensor) -> None:
        """What a model gave, or an index into it: a column, or scores of which one may be picked."""
        if value.dim() == 2:
            self._columns.add(value)

    def is_column(self, value: torch.Tensor) -> bool:
        return value.shape[1:] == (1,) and len(value) > 1 and value in self._columns

    def is_row(self, value: torch.Tensor) -> bool:
        return value.dim() == 1 and _holds(self._batch, value)


def _pairs(pairs: Pairs, given: list[torch.Tensor]) -> int | None:
    column, row = sorted(given, key=torch.Tensor.dim, reverse=True)
    if pairs.is_column(column) and pairs.is_row(row) and len(column) == len(row):
        return len(row)
    return None


def _add(table: dict[int, StorageWeakRef], value: torch.Tensor) -> None:
    if len(table) >= _KEPT:
        table.clear()
    storage = value.untyped_storage()
    table[storage._cdata] = StorageWeakRef(storage)


def _holds(table: dict[int, StorageWeakRef], value: torch.Tensor) -> bool:
    known = table.get(value.untyped_storage()._cdata)
    return known is not None and not known.expired()
