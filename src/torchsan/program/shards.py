"""This rank's own part of a tensor that is spread over processes.

An operation on the whole of it (`DTensor`: `fully_shard`, tensor parallelism) may talk to the other processes, and then
waits for them. What we look at is never the whole: another rank may have nothing to look at, and would be waited for.
"""

from __future__ import annotations

from torchsan.own import torch

_PLAIN = {torch.Tensor, torch.nn.Parameter}


def local(value: torch.Tensor) -> torch.Tensor:
    """What of a tensor lies on this rank; one that is not spread is itself."""
    if type(value) in _PLAIN:
        return value
    part = getattr(value, "_local_tensor", None)
    return part if isinstance(part, torch.Tensor) else value
