"""Which index was out of the range of which tensor: torch's error names neither.

The call that failed knows both where it is one of an embedding. Elsewhere they are those of the line that fit: what the
error says of the index and the size must be true of them, and of no others.
"""

from __future__ import annotations

from typing import NamedTuple

from torchsan.errors.operands import Frame, Operand
from torchsan.own import F, re, torch

_EMBEDDINGS = ("embedding", "embedding_bag")
_THINGS: dict[int | None, str] = {0: "rows", 1: "columns"}
# The dimension that torch names may be that of a view which it made of the tensor: only the size can be relied on.
_SAID = re.compile(r"index (-?\d+) is out of bounds for dimension \d+ with size (\d+)")


class Outside(NamedTuple):
    """An index, the value in it that is out of range, and what it points into, as far as that is known."""

    index: Operand
    value: int
    table: str = ""
    size: int = 0
    dim: int | None = 0

    def fact(self) -> str:
        """What is known, in words."""
        name, index = self.index.name, self.index.value
        said = f"`{name}` holds {self.value}"
        if not self.table:
            return said
        things = "places there" if self.dim is None else _THINGS.get(self.dim, f"places in dimension {self.dim}")
        said += f", and `{self.table}` has {self.size} {things}, 0 to {self.size - 1}"
        if is_counting(index):
            said += f": `{name}` counts {index.shape[-1]} positions, more than there are {things}"
        return said


def find(text: str, way: list[Frame], operands: list[Operand]) -> Outside | None:
    """The index that an error with these words is about; None where it cannot be told."""
    for one in reversed(way):
        if one.frame.f_code.co_filename == F.__file__ and one.frame.f_code.co_name in _EMBEDDINGS:
            index, table = one.frame.f_locals.get("input"), one.frame.f_locals.get("weight")
            given = next((operand for operand in operands if operand.value is index), None)
            if given is None or not isinstance(table, torch.Tensor) or not table.dim():
                return None
            wrong = _wrong(given.value, table.shape[0])
            held = next((operand.name for operand in operands if operand.value is table), "the table")
            return None if wrong is None else Outside(given, wrong, held, table.shape[0])
    said = _SAID.search(text)
    fits = [pair for index in operands for pair in _pairs(index, operands, said)]
    indexes = {id(pair.index.value) for pair in fits}
    if len(indexes) != 1:
        return None
    if len({(pair.table, pair.size) for pair in fits}) == 1:
        return fits[0] if len(fits) == 1 else fits[0]._replace(dim=None)
    return Outside(fits[0].index, fits[0].value)


def _pairs(index: Operand, operands: list[Operand], said: re.Match[str] | None) -> list[Outside]:
    """What an operand would be out of range of, dimension by dimension, in the way that the error says."""
    found = []
    for table in operands:
        for at, size in enumerate(table.value.shape) if table.value is not index.value else ():
            wrong = _wrong(index.value, size)
            if wrong is None:
                continue
            if said is not None:
                value, wanted = map(int, said.groups())
                if size != wanted or not bool((index.value == value).any()):
                    continue
                wrong = min(wrong, value) if value < 0 else wrong
            found.append(Outside(index, wrong, table.name, size, at))
    return found


def _wrong(index: torch.Tensor, rows: int) -> int | None:
    """The value of an index that is outside of so many rows, the largest or, failing that, the smallest."""
    if not index.is_cpu or index.is_floating_point() or index.is_complex() or index.dtype is torch.bool:
        return None
    if not index.numel():
        return None
    low, high = (int(end) for end in torch.aminmax(index))
    if high >= rows:
        return high
    return low if low < 0 else None


def is_counting(index: torch.Tensor) -> bool:
    """Whether every row of an index counts 0, 1, 2 ...: so positions in a sequence do."""
    if index.dim() == 0 or index.shape[-1] < 2:
        return False
    return bool((index == torch.arange(index.shape[-1], device=index.device)).all())
