"""Rows of a tensor that are known again after some of them were chosen, as `output[mask]` does."""

from __future__ import annotations

from typing import Any

from torchsan.own import torch

_ROWS = 1 << 18  # of an output that are kept for a comparison


def first_column(value: torch.Tensor | None) -> torch.Tensor | None:
    """The first value of each row: chosen rows are known again by these."""
    if type(value) is not torch.Tensor or value.layout is not torch.strided or value.is_meta or not value.is_floating_point():
        return None
    return value.detach().flatten(1)[:, 0].clone() if value.dim() > 1 and 1 < value.shape[0] <= _ROWS and value.numel() else None


def has_rows_of(column: torch.Tensor | None, given: Any) -> bool:
    """Whether `given` is made of some of the rows of an output."""
    rows = first_column(given) if isinstance(given, torch.Tensor) else None
    if column is None or rows is None or rows.device != column.device or rows.dtype is not column.dtype:
        return False
    return bool(torch.isin(rows, column).all()) and not bool((rows == rows[0]).all())
