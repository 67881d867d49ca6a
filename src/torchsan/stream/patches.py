"""Things put in place while a watch runs, and taken away again: replaced functions and methods, hook handles."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from torchsan.own import functools, gc, real, weakref
from torchsan.program.compiled import never_compiled
from torchsan.program.where import _USER, kind_of

_MISSING = object()


class _Swap(NamedTuple):
    """A function that stands in the place of another one, under its name."""

    name: str
    old: Any
    new: Any


_originals: weakref.WeakKeyDictionary[Callable, Callable] = weakref.WeakKeyDictionary()  # by what stands in their place


class Patches:
    """A list of changes, undone in reverse order.

    Whoever took up a replacement meanwhile (a model that keeps its loss function, a patch of the program's on top) is
    given the original in the end, where that can be: the replacement has no name any more to be pickled by.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []
        self._swaps: list[_Swap] = []
        self._placed, self._gathers = 0, False  # how many of them are in place, and whether more are to come at once
        self._made: list[weakref.ref] = []

    def _make(self, original: Callable, make: Callable[[Callable], Callable]) -> Callable:
        made = functools.update_wrapper(make(original), original)
        if isinstance(made, FunctionType):
            made.__code__ = _passed_over(made.__code__)
            never_compiled(made.__code__)
        _originals[made] = original
        self._made.append(weakref.ref(made))
        return made

    def method(self, owner: type | ModuleType, name: str, make: Callable[[Callable], Callable]) -> None:
        """Replace `owner.name`, in that place alone, by `make(original)`. Nothing happens where there is none."""
        owner = real(owner)
        original = getattr(owner, name, None)
        if original is None:
            return
        own = owner.__dict__.get(name, _MISSING)
        made = self._make(original, make)
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
        self.functions(home, {name: make})

    def functions(self, home: ModuleType, makers: Mapping[str, Callable[[Callable], Callable]]) -> None:
        """Replace several functions of one module as `function` does, in one walk through all modules."""
        home = real(home)
        for name, make in makers.items():
            original = getattr(home, name, None)
            if original is not None:
                self._swaps.append(_Swap(name, original, self._make(original, make)))
        if not self._gathers:
            self._place()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Functions that are replaced inside are all put in place at its end: a walk through all modules takes longer than
        all the rest. No function twice."""
        self._gathers = True
        try:
            yield
        finally:
            self._gathers = False
            self._place()

    def _place(self) -> None:
        if not self._placed:
            self._undo.append(self._put_back)
        _walk(self._swaps[self._placed:])
        self._placed = len(self._swaps)

    def _put_back(self) -> None:
        back: dict[int, _Swap] = {}  # one that was put in the place of another one of ours: both go
        for name, old, new in self._swaps:
            back[id(new)] = _Swap(name, new, back[id(old)].new if id(old) in back else old)
        self._swaps, self._placed = [], 0
        _walk(back.values())

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
        _hand_back([made for ref in self._made if (made := ref()) is not None])
        self._made.clear()
        if failure is not None:
            raise failure


@functools.lru_cache(maxsize=None)
def _passed_over(code: CodeType) -> CodeType:
    """The same code, whose frames Python's `warnings` and `logging` pass over when they count levels of the stack: what
    torch warns of is told at the user's line. They know such frames by these two words in the file's name."""
    return code.replace(co_filename=f"{code.co_filename} (as importlib._bootstrap)")


def original_of(function: Any) -> Any:
    """What stood in a function's place before it was replaced; the function itself where it is none of ours."""
    while type(function) is FunctionType and function in _originals:
        function = _originals[function]
    return function


def _hand_back(made: list[Callable]) -> None:
    """Give the original to who still holds a replacement: variables of closures, attributes, lists and dicts."""
    ids = {id(one) for one in made}
    for holder in gc.get_referrers(*made) if made else ():
        if holder is made:
            continue
        if isinstance(holder, CellType):
            holder.cell_contents = original_of(holder.cell_contents)
            continue
        places: Any = holder if isinstance(holder, (dict, list)) else getattr(holder, "__dict__", None)
        if isinstance(places, dict):
            found = [key for key, value in list(places.items()) if id(value) in ids]
        else:
            found = [at for at, value in enumerate(places) if id(value) in ids] if isinstance(places, list) else []
        for key in found:
            places[key] = original_of(places[key])


def _walk(swaps: Iterable[_Swap]) -> None:
    """Put the new where the old stands as a module's global: under its own name anywhere, under any name in user's
    modules (`from torch.nn.functional import cross_entropy as ce`)."""
    by_id = {id(swap.old): swap for swap in swaps}
    names = {swap.name for swap in by_id.values()}
    for module in list(sys.modules.values()) if names else ():
        space = getattr(module, "__dict__", None) if isinstance(module, ModuleType) else None
        if not isinstance(space, dict):
            continue
        file = space.get("__file__")
        is_users = space.get("__name__") == "__main__" or (isinstance(file, str) and kind_of(file) == _USER)
        for key in list(space) if is_users else names & space.keys():
            value = space.get(key)
            swap = by_id.get(id(value))
            if swap is not None and swap.old is value and (is_users or swap.name == key):
                space[key] = swap.new
