"""Fingerprints of batches and of their rows: a few values, read on the CPU, by which equal ones are known again.

Nothing is drawn at random, nothing is changed, and what lies on a device is not looked at.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from torchsan.own import torch
from torchsan.program.layers import held, is_a

_TENSORS = 4  # of a batch
_VALUES = 256  # of a tensor
_PER_ROW = 32  # values of a row that are read
_FEW, _DIFFERENT = 4, 6  # values of a row, and how many of those read must differ for it to be known again
_COPIED = 1 << 20  # values of a tensor that is not laid out in order: reading it makes a copy


class Print:
    """What a tensor of a batch looked like. Equal prints: in all likelihood the same values.

    Attributes:
        key: compares shape, type and values.
        varied: whether not all values that were read are one.
        count: values of the tensor.
    """

    __slots__ = ("key", "varied", "count")

    def __init__(self, key: int, varied: bool, count: int):
        self.key, self.varied, self.count = key, varied, count


def of_batch(batch: Any) -> tuple[Print | None, ...]:
    """Prints of the first tensors of a batch; None for one that cannot be read."""
    return tuple(_of_tensor(one) for one in islice(_tensors(batch, 3), _TENSORS))


def _of_tensor(tensor: torch.Tensor) -> Print | None:
    flat = _flat(tensor)
    if flat is None:
        return None
    # Odd, so that it does not walk down one column of a picture.
    values = flat[:: flat.numel() // _VALUES | 1].contiguous()
    data = bytes(values.view(torch.uint8).tolist())
    first = data[: values.element_size()]
    return Print(hash((tensor.shape, tensor.dtype, data)), data != first * values.numel(), flat.numel())


def rows_of(batch: Any) -> list[int]:
    """Prints of the rows of the first tensor of a batch that has more than one value a row; rows that look like many
    others, such as those of few values or of one, are left out. Empty where there is no such tensor."""
    tensor = next((one for one in islice(_tensors(batch, 3), _TENSORS) if one.dim() > 1), None)
    if tensor is None or (flat := _flat(tensor)) is None:
        return []
    rows = flat.view(tensor.shape[0], -1)
    read = rows[:, :: rows.shape[1] // _PER_ROW | 1].tolist()
    return [hash(tuple(row)) for row in read if len(set(row)) >= max(_FEW, min(_DIFFERENT, rows.shape[1]))]


def _flat(tensor: torch.Tensor) -> torch.Tensor | None:
    if type(tensor) is not torch.Tensor or not tensor.is_cpu or tensor.layout != torch.strided:
        return None  # a subclass may have no values
    if tensor.is_quantized or tensor.is_nested:
        return None
    if not tensor.numel() or (tensor.numel() > _COPIED and not tensor.is_contiguous()):
        return None
    return tensor.detach().resolve_conj().resolve_neg().reshape(-1)


def _tensors(value: Any, depth: int) -> Iterator[torch.Tensor]:
    if is_a(value, torch.Tensor):
        yield value
    elif depth:
        # Other mappings may compute what they give.
        for item in held(value.data if is_a(value, UserDict) else value)[:64]:
            yield from _tensors(item, depth - 1)
