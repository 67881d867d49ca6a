"""Turns: threads may train one after the other, but not two at a time.

What is known of a step (the last forward, the gradients that a backward left) is that of one training. Where a second
thread trains meanwhile, the steps of both are mixed, and what would be said of them is not sure. And to read the `.grad`
of a parameter while another thread trains it can crash the process: torch 2.13 does, with no watch around. So from the
first event that shows it on, nothing is watched.

A thread that waits is not training: the main thread joins those that it started, a pool's worker has no job just now.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import Any

import torch

from torchsan.program.where import is_standard

TRAINING = frozenset(("forward", "backward", "autograd.grad", "optimizer.step", "optimizer.zero_grad", "clip"))
holder: list[int | None] = [None]  # the thread that made the last of these events; `events` looks here at each of them


def is_out_of_turn(name: str, info: dict[str, Any]) -> bool:
    """Whether this event of `TRAINING`, of another thread than the holder, shows that both train at the same time. If not,
    and if it is one of a training, its thread is the holder from now on."""
    if name == "forward" and (not info["grad"] or info["depth"]):
        return False
    if torch._C._current_graph_task_id() != -1:
        return False  # autograd has a thread for each device
    is_out = is_taken()
    holder[0] = get_ident()
    return is_out


def is_taken() -> bool:
    """Whether the thread that trained last is another one than this, and goes on."""
    last = holder[0]
    frame = None if last in (None, get_ident()) else sys._current_frames().get(last)
    # Python's own locks, queues and pools are where threads wait. What else its library does takes no time to speak of, and
    # the next event tells.
    return frame is not None and not is_standard(frame.f_code.co_filename)
