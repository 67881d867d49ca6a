"""How much the dry runs of one file may do, how that is shared among them, and which roots it was too little for."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.source_text import RowsLost, TooDeep, TooLong, parse
from torchlint.sieve.facts import FileFacts, Unit

MOST_STEPS_OF_FILE = 300_000  # expressions evaluated in all runs of a file; those of one are bounded besides
STEPS_OF_EVENT = 3  # what an event costs: in training code four to ten steps come with each, so it is steps that count there
STEPS_AT_FIRST = 60_000  # what any run may take, however little it runs; training code takes 5 to 40 steps for each line that it comes to
STEPS_OF_LINE = 100  # what it may take besides for each of these: a short program that takes more calls itself again and again
STEPS_OF_RUN = 100  # what a run costs besides: rules have to look at it
LEAST_STEPS = 1_000  # kept back for each root that is still to come: more than most functions need
SHARE_ALONE = 3  # what is tried again alone may take one part in three: it is to cost little where that is too much, too
HOPELESS = 0.95  # a function that took this part of a run that was too much is not run whole again
_MOST_NAMES = 3
# What stands in the way of a root.
TOO_LARGE, TOO_DEEP, UNREAD, ROWS_LOST = "too large", "nested too deeply", "unread", "rows lost"
_LOST = {UNREAD: "not judged: libcst cannot parse that", ROWS_LOST: "not judged: libcst loses rows that hold nothing but a backslash"}


class Budget:
    """How many steps the runs of a file may still take. `to_come` is the number of roots after the one that is run now."""

    def __init__(self) -> None:
        self.left = self._whole = MOST_STEPS_OF_FILE
        self.to_come = 0

    def share(self) -> int:
        """What the next run may take: all there is but for the least that the others need, and no less than an equal part."""
        kept_back = self.to_come * (LEAST_STEPS + STEPS_OF_RUN)
        return max(self.left - kept_back, self.left // (self.to_come + 1))

    def spend(self, steps: int) -> None:
        self.left -= steps + STEPS_OF_RUN

    @property
    def spent(self) -> int:
        return self._whole - self.left


class Orphans:
    """The functions of a file that a run which was too much would have come to, by the names in what it runs.

    Args:
        named: functions and methods by name.
    """

    def __init__(self, facts: FileFacts, named: dict[str, list[Unit]]):
        self._named = named
        self._classes = {cf.name: cf for cf in facts.all_classes()}
        self._words: set[str] = set()
        self._units: set[int] = set()

    def __contains__(self, unit: Unit | None) -> bool:
        return id(unit) in self._units

    def lose(self, *units: Unit) -> None:
        """Takes in what some units lead to: their run is dropped."""
        todo = list(units)
        while todo:
            new = todo.pop().words - self._words
            self._words |= new
            for word in new:
                called = [*self._named.get(word, ()), *(self._classes[word].methods.values() if word in self._classes else ())]
                todo.extend(unit for unit in called if id(unit) not in self._units)
                self._units.update(map(id, called))


class Shortened:
    """What of a file was not judged whole: roots by what they are called, with their rows.

    `alone` are those that were judged without what they call, `lost` those of which not even that was possible, `why` what
    stands in the way of some, where that is not their size.
    """

    def __init__(self) -> None:
        self.alone: dict[str, int] = {}
        self.lost: dict[str, int] = {}
        self.why: dict[str, str] = {}

    def told(self) -> tuple[int, str] | None:
        """The row it begins on, and the one line that is said of it; None where all was judged whole."""
        for name in self.lost:
            self.alone.pop(name, None)
        said = []
        for why, names in self._by_reason(self.alone).items():
            said.append(f"{_named(names)} {why} for one dry run; {'its' if len(names) == 1 else 'their'} parts were judged by themselves")
        for why, names in self._by_reason(self.lost).items():
            said.append(f"{_named(names)} {_LOST.get(why) or f'{why} to be judged whole'}")
        return (min([*self.alone.values(), *self.lost.values()]), "judged in part: " + "; ".join(said)) if said else None

    def _by_reason(self, roots: dict[str, int]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in roots:
            found.setdefault(self.why.get(name, TOO_LARGE), []).append(name)
        return found


def _named(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is"
    more = len(names) - _MOST_NAMES
    return f"{', '.join(names[:_MOST_NAMES])} and {more} more are" if more > 0 else f"{', '.join(names[:-1])} and {names[-1]} are"


def why_unread(facts: FileFacts, unit: Unit) -> str:
    """What stands in the way of a unit of which there is no tree."""
    try:
        parse(facts, unit)
    except RowsLost:
        return ROWS_LOST
    except (TooDeep, RecursionError):
        return TOO_DEEP
    except TooLong:
        return TOO_LARGE
    except (cst.ParserSyntaxError, cst.CSTValidationError):
        return UNREAD
    return TOO_DEEP  # there is one by now: it was asked for in the depths of a run
