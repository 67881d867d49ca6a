"""Calls that are too much to be run twice: a whole training that a program comes to by several ways (spawned, alone, on a CPU).

Where a call took a large part of what a root may do, a later one of the same function with arguments of the same kinds shows
nothing new: what is in the function has been seen. It goes on as behind a call that cannot be seen, which may change what it is given.
"""

from __future__ import annotations

from torchlint.dryrun.likeness import Likeness
from torchlint.dryrun.values import Func, Instance, Tensor, Union, Value

LARGE = 30_000  # steps: a fifth of what a root may do


class LargeCalls:
    """The part of a run that knows large calls again. See `interpreter.Run` for the state it works on."""

    def note_if_large(self, func: Func, self_value: Value | None, args, kwargs, steps: int) -> None:
        """Keeps what a call was given that took so many steps, if these are many."""
        if steps >= LARGE and not self.trial:
            self.large.setdefault(func.key, []).append(([self_value, *args], dict(kwargs)))

    def is_large_again(self, func: Func, self_value: Value | None, args, kwargs) -> bool:
        """Whether a call is like a large one that this run has seen."""
        given = [self_value, *args]
        return any(
            len(before) == len(given) and named.keys() == kwargs.keys()
            and all(map(self._alike, before, given)) and all(self._alike(named[name], value) for name, value in kwargs.items())
            for before, named in self.large.get(func.key, ())
        )

    def _alike(self, one: Value | None, other: Value | None) -> bool:
        if one is other:
            return True
        if type(one) is not type(other) or one is None:
            return False
        if type(one) is Instance:
            return one.kind == other.kind and one.type == other.type and one.cls is other.cls
        if type(one) is Tensor:
            return one.traits == other.traits
        if type(one) is Union:
            return len(one.alts) == len(other.alts) and all(map(self._alike, one.alts, other.alts))
        return Likeness(self.plain)(one, other)
