"""The condition that a stretch of the program stands under, and when two of them are one and the same.

A condition is its text without what does not matter (`not`, brackets, spaces) and the values that its names are bound to. So
`if scaler:` and a later `if not scaler:` are one condition and its contrary, as long as nobody sets `scaler` in between. Two that compare
one thing with numbers may exclude each other without being contraries, see `comparisons`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from torchlint.dryrun.comparisons import Comparison, compared, disjoint
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import UNSET, Const, Instance, Loop, Opaque, Union, Value

# What a condition may call and still be the same when it is asked again.
_STEADY = re.compile(r"^(?:is_\w+|has\w*|isinstance|issubclass|len|bool|int|str|getattr|callable|get_rank|get_world_size|startswith|endswith)$")
# What asks for something inside of an object: of calls, only these do not.
_INSIDE = re.compile(r"(?<!\bisinstance)(?<!\bissubclass)(?<!\bcallable)(?<!\bis_available)(?<!\bget_rank)(?<!\bget_world_size)(?<=\w)\(|\[")
_CONTRARY = {
    cst.NotEqual: cst.Equal, cst.IsNot: cst.Is, cst.NotIn: cst.In, cst.GreaterThanEqual: cst.LessThan, cst.LessThanEqual: cst.GreaterThan,
}
_SIGN = {cst.Equal: "==", cst.Is: "is", cst.In: "in", cst.LessThan: "<", cst.GreaterThan: ">"}


class Guard:
    """A condition, and whether it holds: as a pair of its place and that. `condition` is what two equal ones share, `when`
    whether that is true, `varies` the loops in each of whose rounds it may be another one."""

    __slots__ = ("condition", "holds", "reads", "site", "varies", "when")

    def __init__(self, site: Site, holds: bool, condition: tuple, when: bool, reads: tuple[Value, ...], varies: tuple[Loop, ...]):
        self.site, self.holds, self.condition, self.when = site, holds, condition, when
        self.reads, self.varies = reads, varies  # what is known by id must stay alive

    def __iter__(self) -> Iterator:
        return iter((self.site, self.holds))

    def __getitem__(self, place: int):
        return (self.site, self.holds)[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Guard) and other.when is self.when and other.condition == self.condition

    def __hash__(self) -> int:
        return hash(self.condition)

    @property
    def lasting(self) -> bool:
        """Whether the same names bound to the same objects give the same answer: not what is counted, got or found in an object,
        which may have changed inside."""
        return _is_lasting(self.condition[0])

    @property
    def compared(self) -> Comparison | None:
        """What the condition says of a number, where it compares one thing with one."""
        return compared(self.condition[0])

    def excludes(self, other: Guard) -> bool:
        """Whether the two never hold both: one is the contrary of the other, or no number is what both say of one thing."""
        if other.condition == self.condition:
            return other.when is not self.when
        if other.condition[1:] != self.condition[1:]:
            return False  # what they read is bound to different things
        mine, its = self.compared, other.compared
        return mine is not None and its is not None and disjoint(mine, self.when, its, other.when)

    def contrary(self) -> Guard:
        return Guard(self.site, not self.holds, self.condition, not self.when, self.reads, self.varies)


@lru_cache(maxsize=4096)
def _is_lasting(text: str) -> bool:
    return not _INSIDE.search(text)


class Asked:
    """What the text of a condition tells: without what does not matter, whether it was turned around, and what it reads."""

    __slots__ = ("positive", "reads", "steady", "text")

    def __init__(self, site: Site):
        self.positive, node = True, site.node
        while type(node) is cst.UnaryOperation and type(node.operator) is cst.Not:
            self.positive, node = not self.positive, node.expression
        text = site.parsed.text
        if type(node) is cst.Comparison and len(node.comparisons) == 1:
            part = node.comparisons[0]
            kind = type(part.operator)
            if kind in _CONTRARY:
                self.positive, kind = not self.positive, _CONTRARY[kind]
            sides = [re.sub(r"\s", "", text(side)) for side in (node.left, part.comparator)]
            if kind is cst.GreaterThan:
                kind, sides = cst.LessThan, sides[::-1]
            self.text = f" {_SIGN[kind]} ".join(sorted(sides) if kind is cst.Equal else sides)
        else:
            self.text = re.sub(r"\s", "", text(node))
        self.reads: list[cst.Name | cst.Attribute] = []
        self.steady = True
        self._read(node)
        self.reads.sort(key=text)

    def _read(self, node: cst.CSTNode) -> None:
        called: set[int] = set()
        inner: set[int] = set()
        for item in walk(node):
            if type(item) is cst.Call:
                name = item.func.attr if type(item.func) is cst.Attribute else item.func
                called.add(id(name))
                self.steady = self.steady and type(name) is cst.Name and bool(_STEADY.match(name.value))
            elif type(item) is cst.Attribute:
                inner.add(id(item.attr))
                if id(item.attr) in called:
                    continue
                inner.add(id(item.value))
                if id(item) not in inner:
                    self.reads.append(item)
            elif type(item) is cst.Name and id(item) not in inner and id(item) not in called:
                self.reads.append(item)
            elif type(item) in (cst.NamedExpr, cst.Await, cst.Yield, cst.Lambda):
                self.steady = False


def bound_to(value: Value | None) -> object:
    """What tells two bindings apart: values are the same by identity, constants by what they are."""
    if isinstance(value, Const):
        return type(value.value).__name__, repr(value.value)
    if isinstance(value, Union):
        return frozenset(map(bound_to, value.alts))
    return id(value)


def varying(value: Value, loops: tuple[Loop, ...], made_in: dict[int, tuple]) -> tuple[Loop, ...]:
    """The loops in whose next round a name may be bound to something else."""
    if isinstance(value, Const):
        return ()
    if isinstance(value, Union):
        if any(isinstance(alt, Const) and alt.value is not None and alt is not UNSET for alt in value.alts):
            return loops
        return max((varying(alt, loops, made_in) for alt in value.alts), key=len)
    if isinstance(value, Instance):
        inside = made_in.get(id(value), ())
        return tuple(loop for loop in loops if loop in inside)
    if isinstance(value, Opaque) and value.source not in ("param", "global", "attr"):
        return tuple(loop for loop in loops if value.serial > loop.serial)
    return ()
