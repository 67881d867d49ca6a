"""Turns: threads may train one after the other. Where two train at a time, a watch goes on with one of them.

What is known of a step (the last forward, the gradients that a backward left) is that of one training. Where a second
thread trains meanwhile, the steps of both would be mixed. And to read the `.grad` of a parameter while another thread
trains it can crash the process: torch 2.13 does, with no watch around. So from the first event that shows it on, each watch
hears one thread alone, and looks at none but that thread's models and optimizers: that of the models that it was given, or
else the one that trained first. Where the threads train the same parameters nothing is watched any more.

A thread that waits is not training: the main thread joins those that it started, a pool's worker has no job just now.
"""

from __future__ import annotations

import sys
from threading import get_ident
from typing import Any

from torch import nn
from torch.optim import Optimizer

from torchsan.own import torch, weakref
from torchsan.program.where import is_standard

TRAINING = frozenset(("forward", "backward", "autograd.grad", "optimizer.step", "optimizer.zero_grad", "clip"))
holder: list[int | None] = [None]  # the thread that made the last of these events; `events` looks here at each of them
_users: dict[int, tuple[weakref.ref, int]] = {}  # by id of a model or optimizer: the thread that trained with it last


def begin() -> None:
    """The first watch starts."""
    holder[0] = None
    _users.clear()


def is_out_of_turn(name: str, info: dict[str, Any]) -> bool:
    """Whether this event of `TRAINING`, of another thread than the holder, shows that both train at the same time. If not,
    and if it is one of a training, its thread is the holder from now on."""
    if name == "forward" and (not info["grad"] or info["depth"] or not info["training"]):
        return False  # an evaluation, or a part
    if in_autograd():
        return False  # autograd has a thread for each device
    is_out = is_taken(holder[0])
    holder[0] = get_ident()
    return is_out


def in_autograd() -> bool:
    """Whether this is a backward that is running, on whatever thread."""
    return torch._C._current_graph_task_id() != -1


def is_taken(last: int | None) -> bool:
    """Whether a thread that has trained is another one than this, and goes on."""
    frame = None if last in (None, get_ident()) else sys._current_frames().get(last)
    # Python's own locks, queues and pools are where threads wait. What else its library does takes no time to speak of, and
    # the next event tells.
    return frame is not None and not is_standard(frame.f_code.co_filename)


def used(name: str, subject: Any, info: dict[str, Any]) -> int | None:
    """Remember that this thread trains with a model or an optimizer, where this event of `TRAINING` shows it. The thread that
    did before, if that was another one."""
    if not isinstance(subject, (nn.Module, Optimizer)):
        return None
    if name == "forward" and not (info["grad"] and info["training"]):
        return None
    me, key = get_ident(), id(subject)
    before = user(subject)
    if before != me:
        _users[key] = weakref.ref(subject, lambda _, pop=_users.pop: pop(key, None)), me
    return None if before == me else before


def user(thing: Any) -> int | None:
    """The thread that trained with a model or an optimizer last."""
    known = _users.get(id(thing))
    return known[1] if known is not None and known[0]() is thing else None


def parameters(thing: Any) -> set[int]:
    """The ids of the parameters of a model or an optimizer."""
    if isinstance(thing, Optimizer):
        return {id(p) for group in thing.param_groups for p in group["params"]}
    return {id(p) for p in thing.parameters()} if isinstance(thing, nn.Module) else set()
