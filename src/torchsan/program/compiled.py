"""What of the program torch.compile has compiled."""

from __future__ import annotations

import sys

from torch import nn


def compiled_frames() -> int:
    """How many functions torch.compile has compiled in this process."""
    dynamo = sys.modules.get("torch._dynamo")
    return dynamo.utils.counters["frames"]["total"] if dynamo is not None else 0


def is_compiled(root: nn.Module) -> bool:
    """Whether a module, or one in it, is compiled."""
    return any(
        getattr(module, "_compiled_call_impl", None) is not None or type(module).__name__ == "OptimizedModule"
        for module in root.modules()
    )
