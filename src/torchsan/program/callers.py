"""Which library made a call: its frame between here and the program's own line; and what Accelerate makes of a step."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torchsan.program.naming import find
from torchsan.program.where import _USER, kind_of

_DEEP = 40  # frames between a step and the program


def library_frame(*modules: str) -> FrameType | None:
    """The innermost frame of one of some modules between the caller's caller and the program's own line."""
    at: FrameType | None = sys._getframe(2)
    for _ in range(_DEEP):
        if at is None or kind_of(at.f_code.co_filename) == _USER:
            return None
        if str(at.f_globals.get("__name__", "")).startswith(modules):
            return at
        at = at.f_back
    return None


def accelerated() -> tuple[Any, int]:
    """The optimizer of Accelerate's that makes the step which is just being told of, and over how many batches it accumulates."""
    frame = library_frame("accelerate.optimizer")
    owner = frame.f_locals.get("self") if frame is not None else None
    state = getattr(owner, "gradient_state", None)
    return (None, 1) if state is None else (owner, int(getattr(state, "num_steps", 1) or 1))


def accelerator_name() -> str:
    """What the program calls its Accelerator."""
    kind = getattr(sys.modules.get("accelerate.accelerator"), "Accelerator", None)
    return find(lambda value: isinstance(value, kind)) or "Accelerator" if isinstance(kind, type) else "Accelerator"


def accelerator_divides_by() -> int:
    """By what Accelerate divides the loss of the backward that is being told of; 0 where it did not call it."""
    frame = library_frame("accelerate.accelerator")
    return int(getattr(frame.f_locals.get("self"), "gradient_accumulation_steps", 0) or 0) if frame is not None else 0


def batches_of_trainer() -> int:
    """Of how many batches the step of transformers' Trainer is made that is under way; 0 without one."""
    frame = library_frame("transformers.trainer")
    return int(getattr(frame.f_locals.get("self"), "current_gradient_accumulation_steps", 0) or 0) if frame is not None else 0
