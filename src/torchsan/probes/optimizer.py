"""optimizer.create, optimizer.step, optimizer.zero_grad; scheduler.create and scheduler.step.

Steps come from torch's official global hooks. `step`: `closure` (bool). `zero_grad`: the subject is an optimizer or a
module. `scheduler.step`: `arguments` (bool: a metric or an epoch was passed), `optimizer`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from torch.compiler import is_dynamo_compiling
from torch.optim import lr_scheduler
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from torchsan.nonfinite.step_function import local
from torchsan.own import threading, torch
from torchsan.program.compiled import compiler
from torchsan.stream.events import Event, begin, end, happened, quiet_threads, rest
from torchsan.stream.patches import Patches

_open: dict[int, Event] = {}  # steps that have begun, by id of the optimizer


def install(patches: Patches) -> None:
    patches.handle(register_optimizer_step_pre_hook(_before_step))
    patches.handle(register_optimizer_step_post_hook(_after_step))
    patches.on_undo(_open.clear)
    patches.method(Optimizer, "__init__", _created)
    patches.method(Optimizer, "zero_grad", _zero_grad)
    patches.method(torch.nn.Module, "zero_grad", _zero_grad)
    base = getattr(lr_scheduler, "LRScheduler", None) or lr_scheduler._LRScheduler
    for cls in (base, lr_scheduler.ReduceLROnPlateau, *_subclasses(base)):
        if "step" in cls.__dict__:
            patches.method(cls, "step", _scheduler_step)
    patches.method(base, "__init__", _scheduler_created)
    patches.method(lr_scheduler.ReduceLROnPlateau, "__init__", _scheduler_created)


def _subclasses(cls: type) -> list[type]:
    found = []
    for sub in cls.__subclasses__():
        found.extend((sub, *_subclasses(sub)))
    return list(dict.fromkeys(found))


def _before_step(optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
    if is_dynamo_compiling() or compiler._is_compiling_flag:
        return
    plan = rest.now
    if plan is not None and plan.accounts is not None and plan.who == id(optimizer):
        if not kwargs and (len(args) == 1 or args[1] is None) and get_ident() == rest.thread and not quiet_threads:
            try:
                if plan.look(optimizer):
                    rest.now = plan.then
                    rest.missed_step(plan)
                    return
            except Exception:
                pass
    if local.rehearsal is not None:
        local.rehearsal.optimizer_step(args, kwargs)
    closure = (args[1] if len(args) > 1 else kwargs.get("closure")) is not None
    event = begin("optimizer.step", optimizer, closure=closure)
    if event is not None:
        _open[id(optimizer)] = event


def _after_step(optimizer: Optimizer, args: tuple, kwargs: dict) -> None:
    if not (is_dynamo_compiling() or compiler._is_compiling_flag) and _open:
        end(_open.pop(id(optimizer), None))


def _created(original: Callable) -> Callable:
    def __init__(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        happened("optimizer.create", self)

    return __init__


def _zero_grad(original: Callable) -> Callable:
    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> None:
        if is_dynamo_compiling() or compiler._is_compiling_flag:
            return original(self, *args, **kwargs)
        plan = rest.now
        if plan is not None and plan.passes == ("optimizer.zero_grad", id(self)) and not quiet_threads:
            rest.now = plan.then
            return original(self, *args, **kwargs)
        if local.rehearsal is not None:
            return None
        event = begin("optimizer.zero_grad", self)
        original(self, *args, **kwargs)
        end(event)

    return zero_grad


def _scheduler_created(original: Callable) -> Callable:
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        happened("scheduler.create", self, optimizer=getattr(self, "optimizer", None))

    return __init__


class _Depth(threading.local):
    inside = False


_depth = _Depth()


def _scheduler_step(original: Callable) -> Callable:
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:
        # The constructor makes a first step, and chained schedulers step their parts: neither is the user's call.
        if _depth.inside or getattr(self, "_is_initial", False) or not hasattr(self, "_last_lr"):
            return original(self, *args, **kwargs)
        optimizer = getattr(self, "optimizer", None)
        event = begin("scheduler.step", self, arguments=bool(args or kwargs), optimizer=optimizer)
        _depth.inside = True
        try:
            result = original(self, *args, **kwargs)
        finally:
            _depth.inside = False
        end(event)
        return result

    return step
