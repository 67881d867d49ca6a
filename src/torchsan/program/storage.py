"""Which memory a tensor lies in."""

from __future__ import annotations

from torchsan.own import torch


def store(value: torch.Tensor) -> int:
    """Tells a tensor's memory: views of one tensor have the same."""
    try:
        return value.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return -id(value)
