"""The program's own TorchDispatchMode, TorchFunctionMode and `__torch_function__` do not see what a watch computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from torch.utils import _python_dispatch

from torchsan.own import torch

_NONE = nullcontext()
without_subclasses = getattr(torch._C, "DisableTorchFunctionSubclass", lambda: _NONE)
_dispatching = getattr(torch._C, "_len_torch_dispatch_stack", None)
_calling = getattr(torch._C, "_len_torch_function_stack", None)
_pop = getattr(torch._C, "_pop_torch_function_stack", None)
_push = getattr(torch._C, "_push_on_torch_function_stack", None)
_set_dispatching_aside = getattr(_python_dispatch, "_disable_current_modes", None)

staying: list[object] = []  # modes of a watch's own that stay in place between events: they must find themselves on top


def none_active() -> bool:
    """Whether there are no modes that could see anything."""
    return not (_calling is None or _calling() or _dispatching is None or _dispatching())


def aside() -> AbstractContextManager:
    """Modes are not active while a check is at work, and tensors of the program's own classes are as any others."""
    calling = _calling is not None and _calling()
    dispatching = not staying and _dispatching is not None and _dispatching()
    return _aside(calling, dispatching) if calling or dispatching else without_subclasses()


@contextmanager
def _aside(calling: int, dispatching: int) -> Iterator[None]:
    can_be = calling and _pop is not None and _push is not None
    modes = [_pop() for _ in range(calling)] if can_be else []
    try:
        dispatching_aside = dispatching and _set_dispatching_aside is not None
        with without_subclasses(), _set_dispatching_aside() if dispatching_aside else _NONE:
            yield
    finally:
        for mode in reversed(modes):
            _push(mode)
