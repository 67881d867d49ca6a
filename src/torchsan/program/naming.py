"""What the user calls a thing: the variable or attribute that holds it in the frames that are running.

To be asked only when there is something to report: before Python 3.13, reading a frame's variables leaves a copy of
them with the frame, which keeps what they hold alive until the frame ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torchsan.program.where import _USER, kind_of

_AROUND = ("optimizer", "scheduler", "_optimizer")
_WRAPPERS = ("accelerate.", "lightning.", "pytorch_lightning.")  # packages whose own optimizers stand around torch's
_DEPTH = 6  # user frames to look at: further out, a name tells little about the line that is reported


def name_of(wanted: Any) -> str | None:
    """The shortest expression for `wanted` in the innermost user's frame that has one: "optimizer", "self.opt"."""
    if wanted is None:
        return None
    frame = sys._getframe(1)
    return _first(frame, lambda value: value is wanted) or _first(frame, lambda value: _is_around(value, wanted))


def _is_around(value: Any, wanted: Any) -> bool:
    """Whether this is what Accelerate's `prepare`, or Lightning's `self.optimizers()`, has made of an optimizer or a schedule:
    the program knows no other."""
    space = getattr(value, "__dict__", None)
    return type(space) is dict and any(space.get(key) is wanted for key in _AROUND) and str(type(value).__module__).startswith(_WRAPPERS)


def find(matches: Callable[[Any], bool]) -> str | None:
    """The shortest expression for a value that `matches`, looked for as `name_of` does."""
    return _first(sys._getframe(1), matches)


def _first(frame: Any, matches: Callable[[Any], bool]) -> str | None:
    for names in scopes(frame):
        found = _in_scope(names, matches)
        if found is not None:
            return found
    return None


def scopes(frame: Any) -> Iterator[Any]:
    """The variables of the user's frames, the innermost first, each frame's own and then its module's."""
    left = _DEPTH
    while frame is not None and left:
        if kind_of(frame.f_code.co_filename) == _USER:
            left -= 1
            yield frame.f_locals
            if frame.f_locals is not frame.f_globals:
                yield frame.f_globals
        frame = frame.f_back


def _in_scope(names: Any, matches: Callable[[Any], bool]) -> str | None:
    items = [(name, value) for name, value in list(names.items()) if not name.startswith("_")]
    for name, value in items:
        if matches(value):
            return name
    owner = names.get("self")
    space = getattr(owner, "__dict__", None)
    if isinstance(space, dict):
        spaces = [space, *(space[key] for key in ("_modules", "_parameters") if isinstance(space.get(key), dict))]
        for inside in spaces:
            for name, value in list(inside.items()):
                if matches(value):
                    return f"self.{name}"
    for name, value in items:  # optimizers kept in a list or dict
        if isinstance(value, (list, tuple)) and len(value) <= 16:
            for index, item in enumerate(value):
                if matches(item):
                    return f"{name}[{index}]"
        elif isinstance(value, dict) and len(value) <= 16:
            for key, item in list(value.items()):
                if matches(item):
                    return f"{name}[{key!r}]"
    return None
