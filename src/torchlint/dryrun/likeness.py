"""When two values are as good as one: a call with the one does what a call with the other does, as far as any rule can tell."""

from __future__ import annotations

import re
from functools import lru_cache

from torchlint.dryrun.plain import Plain, items_of
from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.arrays import is_numpys
from torchlint.dryrun.values import (
    Const,
    Dict,
    Func,
    Instance,
    Iter,
    Member,
    Method,
    Opaque,
    Ref,
    Seq,
    Union,
    Value,
    alternatives,
)

_NUMBERS = (int, float, complex)
_READ = ("item", "call", "attr")  # where something may come from that is called and asked for attributes alike
# Names that tell what something is, or that a condition is a switch.
_TELLING = re.compile(
    r"optim|sched|scal|model|net|module|load|sampl|data|batch|iter|engine|fabric|accel|loss|crit|grad|(?:^|_)opt|bar$|tqdm|prog"
    r"|^(?:is|do|use|has|should|needs?|with|if|no|enable|update)_|train|eval|test|val$", re.I
)


class Likeness:
    """Which values of a call stand for which of another one. `pairs` has them by the id of the one."""

    __slots__ = ("pairs", "plain")

    def __init__(self, plain: Plain):
        self.plain = plain
        self.pairs: dict[int, object] = {}

    def __call__(self, one: object, other: object) -> bool:
        """Whether one may stand for the other; if so, that is noted."""
        if one is other or self.pairs.get(id(one)) is other:
            return True
        kind = type(one)
        if kind is not type(other):
            return Union in (kind, type(other)) and isinstance(other, Value) and self._any_of(alternatives(one), alternatives(other))
        if kind is Const:
            mine, theirs = one.value, other.value
            if type(mine) in _NUMBERS:
                return type(theirs) in _NUMBERS  # numbers never fold
            return type(mine) is type(theirs) and mine == theirs
        if kind is Member:
            return one.is_same(other) is True
        if kind is Items:
            return self._items(one, other)
        if kind is Ref:
            return one.name == other.name
        if kind is Func:
            return one.unit is other.unit and one.unit is not None and one.home is other.home and one.frame is None and other.frame is None
        if kind is Union:
            return self._unions(one, other)
        if kind is Method:
            return one.name == other.name and self(one.owner, other.owner)
        if kind is Opaque:
            alike = _alike(one, other)
        elif kind is Seq:
            alike = one.kind == other.kind
        elif kind is Instance:
            alike = one.cls is other.cls and one.complete is other.complete
        elif kind is Iter:
            alike = one.kind == other.kind and one.once is other.once and self(one.base, other.base)
        else:
            alike = kind is Dict
        if not alike or not self.plain(one) or not self.plain(other):
            return not isinstance(one, Value) and kind in (bool, int, str) and one == other
        self.pairs.setdefault(id(one), other)
        return True

    def _unions(self, one: Union, other: Union) -> bool:
        # What a comparison that fails has noted does no harm: it is of plain values, any of which will do.
        return len(one.alts) == len(other.alts) and all(map(self, one.alts, other.alts)) or self._any_of(one.alts, other.alts)

    def _items(self, one: Items, other: Items) -> bool:
        """Of plain items it does not matter how many there are, only what."""
        if one.open is not other.open or type(one.known) is not type(other.known):
            return False
        mine, theirs = items_of(one), items_of(other)
        if len(mine) == len(theirs) and all(map(self, mine, theirs)):
            return True
        return bool(mine and theirs) and self._any_of(mine, theirs)

    def _any_of(self, mine: tuple[Value, ...], theirs: tuple[Value, ...]) -> bool:
        """Whether what is one of some values may stand for what is one of others: what of them is no number, text or unknown thing
        is the same."""
        some, others = set(), set()
        for values, kinds in ((mine, some), (theirs, others)):
            for value in values:
                for alt in alternatives(value):
                    if type(alt) is Const:
                        kinds.add("unknown" if alt.value is not None else "none")
                    elif type(alt) is Opaque and self.plain(alt):
                        if _tells(alt.name):
                            return False
                        kinds.add("numpys" if is_numpys(alt) else "unknown")
                    else:
                        kinds.add(id(self.pairs.get(id(alt), alt)) if values is mine else id(alt))
        if others != some:
            return False
        for value in mine:  # any of the others will do
            for alt in alternatives(value):
                if type(alt) is Opaque:
                    self.pairs.setdefault(id(alt), next(have for value in theirs for have in alternatives(value) if type(have) in (Opaque, Const)))
        return True


@lru_cache(maxsize=4096)
def _tells(name: str) -> bool:
    return _TELLING.search(name) is not None


def _alike(one: Opaque, other: Opaque) -> bool:
    if one.name != other.name and (_tells(one.name) or _tells(other.name)):
        return False
    if any((tag in one.tags) is not (tag in other.tags) for tag in ("bool", "cuda")) or is_numpys(one) is not is_numpys(other):
        return False
    return one.source == other.source or one.source in _READ and other.source in _READ
