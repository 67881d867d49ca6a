"""Things put in place while a watch runs, and taken away again: replaced functions and methods, hook handles."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from torchsan.where import _USER, kind_of

_MISSING = object()


class Patches:
    """A list of changes, undone in reverse order.

    A replacement that a user's module imported meanwhile, or that someone patched over, stays reachable after `undo`;
    it then only calls the original, because nobody listens.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []

    def method(self, owner: type, name: str, make: Callable[[Callable], Callable]) -> None:
        """Replace `owner.name` by `make(original)`. Nothing happens where `owner` has no such attribute."""
        original = getattr(owner, name, None)
        if original is None:
            return
        own = owner.__dict__.get(name, _MISSING)
        made = functools.wraps(original)(make(original))
        setattr(owner, name, made)

        def undo() -> None:
            if owner.__dict__.get(name) is made:
                if own is _MISSING:
                    delattr(owner, name)
                else:
                    setattr(owner, name, own)

        self._undo.append(undo)

    def function(self, home: ModuleType, name: str, make: Callable[[Callable], Callable]) -> None:
        """Replace the function `home.name` by `make(original)`, also where it was imported from there by its name.

        Nothing happens where `home` has no such function.
        """
        original = getattr(home, name, None)
        if original is None:
            return
        made = functools.wraps(original)(make(original))
        _swap(name, original, made)
        self._undo.append(lambda: _swap(name, made, original))

    def functions(self, home: ModuleType, makers: Mapping[str, Callable[[Callable], Callable]]) -> None:
        """Replace several functions of one module as `function` does, in one walk through all modules."""
        originals = {name: original for name in makers if (original := getattr(home, name, None)) is not None}
        made = {name: functools.wraps(original)(makers[name](original)) for name, original in originals.items()}
        _swap_all({name: (original, made[name]) for name, original in originals.items()})
        self._undo.append(lambda: _swap_all({name: (made[name], original) for name, original in originals.items()}))

    def handle(self, removable: Any) -> None:
        """Keep a torch hook's handle and remove the hook in the end."""
        self._undo.append(removable.remove)

    def on_undo(self, action: Callable[[], Any]) -> None:
        """Call `action` in the end."""
        self._undo.append(action)

    def undo(self) -> None:
        """Take everything away. One failure does not keep the rest in place; the first is raised afterwards."""
        failure = None
        while self._undo:
            try:
                self._undo.pop()()
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure


def _swap(name: str, old: Any, new: Any) -> None:
    """`_swap_all` for one function."""
    _swap_all({name: (old, new)})


def _swap_all(changes: Mapping[str, tuple[Any, Any]]) -> None:
    """Put the new where the old stands as a module's global: under its own name anywhere, under any name in user's
    modules (`from torch.nn.functional import cross_entropy as ce`)."""
    by_id = {id(old): (old, new) for old, new in changes.values()}
    for module in list(sys.modules.values()):
        space = getattr(module, "__dict__", None) if isinstance(module, ModuleType) else None
        if not isinstance(space, dict):
            continue
        for name, (old, new) in changes.items():
            if space.get(name) is old:
                space[name] = new
        file = space.get("__file__")
        if space.get("__name__") == "__main__" or (isinstance(file, str) and kind_of(file) == _USER):
            for key, value in list(space.items()):
                change = by_id.get(id(value))
                if change is not None and change[0] is value:
                    space[key] = change[1]
