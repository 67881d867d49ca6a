"""What of the program torch.compile has compiled, and that nothing of ours is."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from torch import compiler as _torchs
from torch import nn

from torchsan.own import torch
from torchsan.program.walks import once_an_event, parts_of


class _Asked:
    """For a torch without the flag."""

    @property
    def _is_compiling_flag(self) -> bool:
        return _torchs.is_compiling()


# `torch.compiler.is_compiling()` is two calls of Python, and hooks ask at each step: they read the flag that it reads.
compiler: Any = _torchs if hasattr(_torchs, "_is_compiling_flag") else _Asked()
_frames: Any = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def never_compiled(code: CodeType, all_that_it_calls: bool = False) -> None:
    """Keep a function of ours out of torch.compile's sight where it is called from compiled code, behind a break of the
    graph: it is no part of the program. Where compiled code takes it in, it is read as before."""
    if hasattr(_frames, "set_code_exec_strategy"):
        actions = _frames._FrameAction
        within = actions.SKIP if all_that_it_calls else actions.DEFAULT
        _frames.set_code_exec_strategy(code, _frames._FrameExecStrategy(actions.SKIP, within))


def compiled_frames() -> int:
    """How many functions torch.compile has compiled in this process."""
    dynamo = sys.modules.get("torch._dynamo")
    return dynamo.utils.counters["frames"]["total"] if dynamo is not None else 0


@once_an_event
def is_compiled(root: nn.Module) -> bool:
    """Whether a module, or one in it, is compiled."""
    return any(
        type(module).__name__ == "OptimizedModule" or "_orig_mod" in module._modules or "_orig_mod" in module.__dict__
        or module.__dict__.get("_compiled_call_impl") is not None
        for module in parts_of(root)
    )
