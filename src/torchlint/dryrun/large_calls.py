"""Calls that are too much to be run twice: a whole training that a program comes to by several ways (spawned, alone, on a CPU).

Where a call took a large part of what a root may do, a later one of the same function with arguments of the same kinds shows
nothing new: what is in the function has been seen. It goes on as behind a call that cannot be seen, which may change what it is given.
What is large falls as the root nears its bound: rather than to drop all that was seen, it asks less of what it has seen before.
"""

from __future__ import annotations

from typing import NamedTuple

from torchlint.dryrun.likeness import Likeness
from torchlint.dryrun.values import Event, Func, Instance, Tensor, Union, Value

LARGE = 30_000  # steps: a part of what a root may do that few calls take
_LEAST = 500
# Behind so many steps of a root, this part of what it may do by what it has come to, or so many of a file, calls of so few steps are large.
_LATE = ((130_000, 0.65, 250_000, _LEAST), (100_000, 0.5, 200_000, 2_000))
_MUCH_OF_FILE = 100_000  # steps, behind which a call counts that was large in another root


class LargeCall(NamedTuple):
    """What a call was given, of what kinds that is, how many steps it took, the events of its run, how many these were when it
    ended, and the last one."""

    kinds: tuple[tuple, ...]
    given: list
    named: dict
    steps: int
    events: list[Event]
    count: int
    last: Event | None

    @property
    def stands(self) -> bool:
        """Whether what it did is part of the run, and was not in a pass that was taken back."""
        return self.count <= len(self.events) and (self.last is None or self.events[self.count - 1] is self.last)


class SeenCalls:
    """The calls of a file's runs that took many steps, by function. What a run that was given up has seen is dropped with it."""

    def __init__(self) -> None:
        self.calls: dict[object, list[LargeCall]] = {}

    def settle(self, events: list[Event], finished: bool) -> None:
        """Keeps, when a run with these events has ended, what its calls have shown."""
        for key, calls in list(self.calls.items()):
            kept = [call for call in calls if call.events is not events or finished and call.stands]
            # Nothing else of an ended run stays alive.
            self.calls[key] = [call._replace(given=[], named={}, events=[], count=0, last=None) if call.events is events else call for call in kept]


class LargeCalls:
    """The part of a run that knows large calls again. See `interpreter.Run` for the state it works on."""

    def note_if_large(self, func: Func, self_value: Value | None, args, kwargs, steps: int) -> None:
        """Keeps what a call was given that took so many steps, if these are many, or may be later on."""
        if steps >= min(LARGE, _LEAST):
            events, given = self.graph.events, [self_value, *args]
            call = LargeCall(tuple(map(_kind, given)), given, dict(kwargs), steps, events, len(events), events[-1] if events else None)
            self.seen.calls.setdefault(func.key, []).append(call)

    def is_large_again(self, func: Func, self_value: Value | None, args, kwargs) -> bool:
        """Whether a call is like a large one that has been seen."""
        calls = self.seen.calls.get(func.key)
        if not calls:
            return False
        least = self._least_steps()
        if func.name == "__init__" and (least == LARGE or not self.stack or getattr(self_value, "kind", "") != "instance"):
            return False  # of an object that is not made nothing is known: a part of a model is always made, and what a root is about
        given = [self_value, *args]
        for before in calls:
            if before.steps < least or not self._was_seen(before, least):
                continue
            if least < LARGE or before.events is not self.graph.events:
                alike = all(kind == _kind(value) for kind, value in zip(before.kinds, given))
            else:
                alike = len(before.given) == len(given) and all(map(self._alike, before.given, given))
                alike = alike and before.named.keys() == kwargs.keys()
                alike = alike and all(self._alike(before.named[name], value) for name, value in kwargs.items())
            if alike:
                self.spared = True
                if func.name == "__init__":
                    self_value.complete = False
                return True
        return False

    def _least_steps(self) -> int:
        """How many steps make a call a large one, at this point of the run."""
        of_file = self.steps + self.budget.spent
        for in_root, part, in_file, least in _LATE:
            if self.steps > min(in_root, part * self.allowed) or of_file > in_file:
                return least
        if of_file > _MUCH_OF_FILE:  # a file of many tests: each is to be seen, so what all do takes half of one's part at most
            return min(LARGE, max(_LEAST, self.budget.left // (2 * self.budget.to_come + 2)))
        return LARGE

    def _was_seen(self, before: LargeCall, least: int) -> bool:
        """Whether what a call did counts: in this run, if it stands; where much was done already, in another one; and where little is
        left, in a pass that is taken back for another such pass."""
        if before.events is self.graph.events:
            return least < LARGE and self.trial or before.stands
        return least < LARGE or self.steps + self.budget.spent > _MUCH_OF_FILE

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


def _kind(value: Value | None) -> tuple:
    """What a value is but for texts, numbers and sizes, which make some difference to what a call does, and not much of one."""
    return (type(value), value.kind, value.cls) if isinstance(value, Instance) else (type(value),)
