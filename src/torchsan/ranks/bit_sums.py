"""Sums over the bits of tensors: two tensors that differ anywhere have other sums, in all likelihood. They are made on
the device, and read when they are there."""

from __future__ import annotations

from typing import Any

from torchsan.own import torch

_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """A sum over the bits of a tensor, as an int64 tensor of one element on its device; None where there are none."""
    if tensor is None or tensor.layout != torch.strided or tensor.is_meta or not tensor.numel():
        return None
    flat = tensor.detach()
    if not flat.is_contiguous() and torch.ops.aten.is_non_overlapping_and_dense(flat):
        flat = flat.as_strided((flat.numel(),), (1,))  # as it lies in memory: all ranks have it alike
    flat = flat.reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    # Eight bytes at once: the sum of smaller integers takes many times as long.
    size = flat.element_size()
    lead = -flat.storage_offset() % (8 // size)
    middle = (flat.numel() - lead) // (8 // size) * (8 // size)
    if middle <= 0:
        return _small(flat)
    total = flat[lead:lead + middle].view(torch.int64).sum()
    for rest in (flat[:lead], flat[lead + middle:]):
        if rest.numel():
            total = total + _small(rest)
    return total


def _small(flat: torch.Tensor) -> torch.Tensor:
    return flat.view(_BITS[flat.element_size()]).sum(dtype=torch.int64)


class Sums:
    """Sums over the bits of tensors, on their way from the device."""

    def __init__(self, tensors: list[torch.Tensor | None]):
        self._host: list[tuple[list[int], torch.Tensor, Any]] = []
        self._count = len(tensors)
        with torch.no_grad():
            sums = [bits(tensor) for tensor in tensors]
            for device in {value.device for value in sums if value is not None}:
                at = [index for index, value in enumerate(sums) if value is not None and value.device == device]
                stacked, arrived = torch.stack([sums[index] for index in at]), None  # type: ignore[misc]
                if device.type == "cuda":
                    host = torch.empty(stacked.shape, dtype=stacked.dtype, pin_memory=True)
                    host.copy_(stacked, non_blocking=True)
                    arrived = torch.cuda.Event()
                    arrived.record(torch.cuda.current_stream(device))
                    stacked = host
                self._host.append((at, stacked, arrived))

    def are_there(self) -> bool:
        """Whether they can be read without waiting for a device."""
        return all(arrived is None or arrived.query() for _, _, arrived in self._host)

    def read(self) -> list[int]:
        """The sums; 0 where there was no tensor."""
        found = [0] * self._count
        for at, values, arrived in self._host:
            if arrived is not None:
                arrived.synchronize()
            for index, number in zip(at, values.tolist()):
                found[index] = number
        return found
