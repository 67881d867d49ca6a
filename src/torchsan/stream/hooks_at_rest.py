"""While the checks rest nobody asks how a forward ends: the hook that tells of it is out of the model's tables.

That is a sixth of what a step at rest costs. Before anything is heard again it is back in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator
from types import FrameType
from typing import Any

from torch import nn
from torch.nn.modules import module as _home

from torchsan.own import weakref
from torchsan.program.compiled import compiled_frames
from torchsan.stream.resting_checks import Plan

_TABLES = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")


class _Taken:
    """A hook that is out of its tables, and where in them it was."""

    def __init__(self, module: nn.Module, key: int, plan: Plan):
        self.module, self.key, self.plans = weakref.ref(module), key, [plan]
        held = [(name, module.__dict__[name]) for name in _TABLES]
        self._places = {name: (table[key], _before(table, key)) for name, table in held if key in table}
        for name in self._places:
            del module.__dict__[name][key]

    def put_back(self, is_known: bool) -> None:
        """In its place, where the model is still known."""
        for plan in self.plans:
            plan.ends_unheard = False
        module = self.module() if is_known else None
        for name, (value, earlier) in self._places.items() if module is not None else ():
            table = module.__dict__[name]
            later = [key for key in table if key not in earlier]
            table[self.key] = value
            for key in later:
                table[key] = table.pop(key)


def _before(table: dict, key: int) -> set[int]:
    keys = list(table)
    return set(keys[:keys.index(key)])


class HooksAtRest:
    """The hooks that are out of their tables now."""

    def __init__(self) -> None:
        self._taken: dict[int, _Taken] = {}

    def take(self, first: Plan, key_of: Any) -> None:
        """The checks fall asleep: the plan begins with `first`. `key_of` gives a model and the key of its hook, or None."""
        forwards = [plan for plan in _all_of(first) if plan.name == "forward"]
        # A call inside of another one is to know of that. What is compiled is compiled again where tables change.
        if compiled_frames() or any(plan.depth for plan in forwards):
            return
        for plan in forwards:
            if plan.who in self._taken:
                self._taken[plan.who].plans.append(plan)
            elif (found := key_of(plan.who)) is not None and found[1] in found[0].__dict__["_forward_hooks"]:
                self._taken[plan.who] = _Taken(*found, plan)
            else:
                continue
            plan.ends_unheard = True

    def put_back(self, known: Container[int]) -> list[tuple[nn.Module, None, FrameType]]:
        """The hooks are in their places again, of models whose ids are `known`. Their calls that are being made on this thread,
        outermost first."""
        if not self._taken:
            return []
        taken, self._taken = self._taken, {}
        for one in taken.values():
            one.put_back(one.plans[0].who in known)
        calls: list[tuple[nn.Module, None, FrameType]] = []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == _home.__file__ and frame.f_code.co_name in ("inner", "_call_impl"):
                module = frame.f_locals.get("self")
                if id(module) in taken and not any(module is called for called, _, _ in calls):
                    calls.append((module, None, frame))
            frame = frame.f_back
        return calls[::-1]


def _all_of(first: Plan) -> Iterator[Plan]:
    yield first
    plan = first.then
    while plan is not first:
        yield plan
        plan = plan.then
