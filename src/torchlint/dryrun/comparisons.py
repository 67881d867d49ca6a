"""What two comparisons of one thing with numbers say of each other: `x > 1` and `x == 1` never hold both.

A number of classes is one at least, and a length nothing at least: where such a count is neither 1 nor more than 1, it is nothing that
a program meets.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_NUMBER = re.compile(r"-?\d+(?:\.\d*)?$")
_AT_LEAST_ONE = re.compile(
    r"(?:^|[._])(?:(?:n|num|nb|number_of|in|out|input|output)_?(?:class(?:es)?|labels?|channels?|outputs?|categories|dims?|size)"
    r"|nc|world_size|batch_size)$|(?:^|\.)get_world_size\(\)$"
)
_NEVER_NEGATIVE = re.compile(r"(?:^len\([^()]*\)|\.ndim|\.dim\(\)|\.numel\(\))$")


class Comparison(NamedTuple):
    """One thing beside a number: `sign` is "==" or "<", `first` whether the number stands before it."""

    thing: str
    sign: str
    number: float
    first: bool

    def holds(self, value: float) -> bool:
        if self.sign == "==":
            return value == self.number
        return self.number < value if self.first else value < self.number


@lru_cache(maxsize=4096)
def compared(text: str) -> Comparison | None:
    """What the text of a condition, as a guard keeps it, compares with a number; None where it does not."""
    left, sign, right = next((text.partition(f" {sign} ") for sign in ("==", "<") if f" {sign} " in text), (text, "", ""))
    if not sign or bool(_NUMBER.match(left)) == bool(_NUMBER.match(right)):
        return None
    first = bool(_NUMBER.match(left))
    return Comparison(right if first else left, sign.strip(), float(left if first else right), first)


def disjoint(one: Comparison, when: bool, other: Comparison, other_when: bool) -> bool:
    """Whether no value is so that the one comparison holds, or does not, and the other one too. `when`: whether it holds."""
    if one.thing != other.thing:
        return False
    return not any(one.holds(value) is when and other.holds(value) is other_when for value in _trials(one, other))


def _trials(one: Comparison, other: Comparison) -> list[float]:
    """One value of each stretch that two numbers cut the line into, as far as the thing may be there."""
    low, high = sorted((one.number, other.number))
    if _AT_LEAST_ONE.search(one.thing):
        return [value for value in _whole(low, high) if value >= 1]
    if _NEVER_NEGATIVE.search(one.thing):
        return [value for value in _whole(low, high) if value >= 0]
    return [low - 1, low, (low + high) / 2, high, high + 1]


def _whole(low: float, high: float) -> list[float]:
    """The same of whole numbers."""
    return [float(value) for edge in (int(low), int(high)) for value in range(edge - 1, edge + 3)]
