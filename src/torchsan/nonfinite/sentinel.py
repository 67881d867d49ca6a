"""Whether any gradient is not finite: one call for all of them, and one value to be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torchsan.own import torch
from torchsan.program.shards import local

_check = torch._amp_foreach_non_finite_check_and_unscale_
_grad_mode, _set_grad_mode = torch.is_grad_enabled, torch._C._set_grad_enabled
_CPU = torch.device("cpu")
_PLAIN = frozenset((torch.Tensor,))
_flags: dict[torch.device, tuple[torch.Tensor, torch.Tensor]] = {}


def finite(values: Sequence[torch.Tensor]) -> bool:
    """Whether all `values` (gradients, losses; any float dtype, any mix of devices) are finite.

    The call that GradScaler makes, with a scale of one: it writes back what it reads, bit for bit, and no version
    changes. It reads the answer, so it waits for the device; a device that records a graph is not asked.
    Of a tensor that is spread over processes it is this rank's part: the call on the whole of it is a reduction over all
    ranks, and one that does not look would be waited for.
    Source: torch/amp/grad_scaler.py, aten/src/ATen/native/cuda/AmpKernels.cu.
    """
    if not values:
        return True
    if not _PLAIN.issuperset(map(type, values)):
        values = list(map(local, values))
    grad = _grad_mode()
    _set_grad_mode(False)
    try:
        return _finite(values[0].device, values)
    except (RuntimeError, NotImplementedError, TypeError):  # several devices, or something that is not dense
        return _one_by_one(values)
    finally:
        _set_grad_mode(grad)


def finite_here() -> Callable[[list[torch.Tensor]], bool]:
    """What does the same in the least time, of some values that are plain tensors, most likely dense, on the CPU and finite.
    Where it gives False, `finite` is to be asked."""
    found, one = _flags.get(_CPU) or _flags_of(_CPU)
    read = found.item

    def look(values: list[torch.Tensor]) -> bool:
        grad = _grad_mode()
        _set_grad_mode(False)
        try:
            _check(values, found, one)
        except (RuntimeError, NotImplementedError, TypeError):
            return False
        finally:
            _set_grad_mode(grad)
        if read() == 0.0:
            return True
        found.zero_()
        return False

    return look


def _flags_of(device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    flags = _flags[device] = (torch.zeros(1, device=device), torch.ones(1, device=device))
    return flags


def _finite(device: torch.device, values: Sequence[torch.Tensor]) -> bool:
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return True
    found, one = _flags.get(device) or _flags_of(device)
    _check(values, found, one)
    if not found.item():
        return True
    found.zero_()
    return False


def _one_by_one(values: Sequence[torch.Tensor]) -> bool:
    groups: dict[torch.device, list[torch.Tensor]] = {}
    for value in values:
        if value.is_sparse:
            value = value._values()
        if value.is_complex():
            value = torch.view_as_real(value.resolve_conj())
        if value.is_floating_point() and value.numel() and not value.is_meta:
            groups.setdefault(value.device, []).append(value)
    for device, group in groups.items():
        try:
            if not _finite(device, group):
                return False
        except (RuntimeError, NotImplementedError, TypeError):  # an expanded gradient, a device without the kernel
            if not all(bool(torch.isfinite(value).all()) for value in group):
                return False
    return True
