"""Whether any gradient is not finite: one call for all of them, and one value to be read."""

from __future__ import annotations

from collections.abc import Iterable

import torch

_flags: dict[torch.device, tuple[torch.Tensor, torch.Tensor]] = {}


def finite(values: Iterable[torch.Tensor]) -> bool:
    """Whether all `values` (gradients, losses; any float dtype, any mix of devices) are finite.

    The call that GradScaler makes, with a scale of one: it writes back what it reads, bit for bit, and no version
    changes. It reads the answer, so it waits for the device; a device that records a graph is not asked.
    Source: torch/amp/grad_scaler.py, aten/src/ATen/native/cuda/AmpKernels.cu.
    """
    groups: dict[torch.device, list[torch.Tensor]] = {}
    for value in values:
        if value.is_sparse:
            value = value._values()
        if value.is_floating_point() and value.numel():
            groups.setdefault(value.device, []).append(value)
    return all([_finite(device, group) for device, group in groups.items()])


def _finite(device: torch.device, group: list[torch.Tensor]) -> bool:
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return True
    with torch.no_grad():
        flags = _flags.get(device)
        if flags is None:
            flags = _flags[device] = (torch.zeros(1, device=device), torch.ones(1, device=device))
        found, one = flags
        found.zero_()
        try:
            torch._amp_foreach_non_finite_check_and_unscale_(group, found, one)
        except (RuntimeError, NotImplementedError, TypeError):  # an expanded gradient, a device without the kernel
            return all(bool(torch.isfinite(value).all()) for value in group)
        return not found.item()
