"""Who keeps a thing alive, as an expression of the user's: "trainer.log['loss']", "cache[...] of data.py".

Asked only when there is something to report: it goes through what the garbage collector knows.
"""

from __future__ import annotations

import sys
from collections import deque
from types import CellType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from torchsan.own import gc
from torchsan.program.naming import name_of
from torchsan.program.where import _USER, kind_of

_DEEP = 8  # containers and owners between a thing and a name
_WIDE = 64  # things looked at in all
_PLAIN = (list, tuple, deque, set, dict)


def keeper(thing: Any) -> str | None:
    """What keeps `thing` alive, from a variable, attribute or global of the user's on; None where none is found."""
    todo: deque[tuple[Any, str, int]] = deque([(thing, "", 0)])
    seen = {id(thing)}
    ours = {id(todo), id(seen)}
    while todo and len(seen) < _WIDE:
        value, path, depth = todo.popleft()
        name = name_of(value) if depth else None
        if name is not None:
            return name + path
        if depth == _DEEP:
            continue
        referrers = gc.get_referrers(value)
        ours.add(id(referrers))
        for one in referrers:
            if id(one) in ours or id(one) in seen or isinstance(one, FrameType) or _is_entry(one):
                continue
            found = _step(one, value, path)
            if found is None:
                continue
            if isinstance(found, str):
                return found
            seen.add(id(found[0]))
            todo.append((*found, depth + 1))
        del referrers
    return None


def _is_entry(one: Any) -> bool:
    """Whether a tuple is one of those that wait to be looked at."""
    return type(one) is tuple and len(one) == 3 and type(one[1]) is str and type(one[2]) is int


def _step(holder: Any, value: Any, path: str) -> tuple[Any, str] | str | None:
    """The next thing on the way to a name, and what is to be written behind that; or the whole expression."""
    if isinstance(holder, dict):
        key = next((key for key, item in list(holder.items()) if item is value), None)
        module = _module_of(holder)
        if module is not None:
            file = module.__dict__.get("__file__") or ""
            return f"{key}{path}" if kind_of(file) == _USER or module.__name__ == "__main__" else None
        owner = _owner_of(holder)
        if owner is not None:
            return (owner, f".{key}{path}") if isinstance(key, str) else None
        return (holder, f"[{key!r}]{path}") if isinstance(key, (str, int)) else (holder, f"[...]{path}")
    if isinstance(holder, _PLAIN):
        return holder, f"[...]{path}"
    if isinstance(holder, CellType):
        function = next((f for f in _functions_over(holder) if kind_of(f.__code__.co_filename) == _USER), None)
        if function is None:
            return None
        names = [name for name, cell in zip(function.__code__.co_freevars, function.__closure__) if cell is holder]
        return f"{names[0]}{path} of {function.__qualname__}"
    if isinstance(holder, (ModuleType, FunctionType, MethodType, type)):
        return None
    space = getattr(holder, "__dict__", None)
    if isinstance(space, dict):  # objects whose attributes are not in a dictionary of their own yet
        key = next((key for key, item in list(space.items()) if item is value), None)
        return None if key is None else (holder, f".{key}{path}")
    return None


def _module_of(space: dict) -> ModuleType | None:
    module = sys.modules.get(space.get("__name__", "")) if isinstance(space.get("__name__"), str) else None
    return module if isinstance(module, ModuleType) and module.__dict__ is space else None


def _owner_of(space: dict) -> Any:
    for one in gc.get_referrers(space):
        if not isinstance(one, (*_PLAIN, FrameType)) and getattr(one, "__dict__", None) is space:
            return one
    return None


def _functions_over(cell: CellType) -> list[FunctionType]:
    tuples = [one for one in gc.get_referrers(cell) if isinstance(one, tuple)]
    return [f for held in tuples for f in gc.get_referrers(held) if isinstance(f, FunctionType)]
