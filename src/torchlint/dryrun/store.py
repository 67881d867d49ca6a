"""What the program has written so far: names, attributes, list items, modes. A branch writes to a layer of its own."""

from __future__ import annotations

from typing import Any

from torchlint.dryrun.frame import Frame
from torchlint.dryrun.values import UNSET, Dict, Instance, Seq, Value, join

MISSING = object()
NOWHERE = 1 << 30
MOST_ITEMS = 2_000
ANY_ITEM = "[*]"  # the item of something unseen under a key that nobody has asked for yet
# What has its items from where it is made: where nothing is known of it, nobody has it.
_MADE_WHOLE = frozenset({Seq, Dict})


class Store:
    """A layer over another. Keys are (owner, name): a frame and a variable, or an object and an attribute.

    Keys compare by the owner's identity: owners are kept alive by being in the key.
    """

    __slots__ = ("asked", "data", "depth", "grown", "outermost", "parent", "through")

    def __init__(self, parent: Store | None = None):
        self.parent = parent
        # The keys that were asked for in this layer, or one over it, and are known from one under it; None where nobody needs them.
        self.through: set[tuple[Any, str]] | None = None
        self.data: dict[tuple[Any, str], Any] = {}
        self.depth: int = parent.depth + 1 if parent is not None else 0
        # By key, the depth of the outermost layer that ever held it; of all layers over one ground. Most questions are
        # about what nobody has written: those are answered by this.
        self.outermost: dict[tuple[Any, str], int] = parent.outermost if parent is not None else {}
        # The keys that were asked for, but for the variables of functions; of all layers, too. Summaries go by it.
        self.asked: list[tuple[Any, str]] = parent.asked if parent is not None else []
        # The keys of containers that something was added to; of all layers. What a layer holds of them is of those under it, too.
        self.grown: set[tuple[Any, str]] = parent.grown if parent is not None else set()

    def get(self, owner: Any, name: str, default: Any = None) -> Any:
        """What is known under a key."""
        key = (owner, name)
        if owner.__class__ is not Frame:
            self.asked.append(key)
            if key in self.grown:
                self._note_asked(key)
        layer: Store | None = self
        if self.outermost.get(key, NOWHERE) > self.depth:
            return default
        while layer is not None:
            data = layer.data
            if key in data:
                return data[key]
            if layer.through is not None:
                layer.through.add(key)
            layer = layer.parent
        return default

    def to_change(self, owner: Any, name: str) -> Any:
        """The same, for what adds to a container and does not go by what is in it."""
        key = (owner, name)
        self.asked.append(key)
        self.grown.add(key)
        return self.peek(owner, name)

    def _note_asked(self, key: tuple[Any, str]) -> None:
        layer: Store | None = self
        while layer is not None:
            if layer.through is not None:
                layer.through.add(key)
            layer = layer.parent

    def peek(self, owner: Any, name: str, default: Any = None) -> Any:
        """The same, for something that the program does not ask."""
        key = (owner, name)
        layer: Store | None = self
        if self.outermost.get(key, NOWHERE) > self.depth:
            return default
        while layer is not None:
            data = layer.data
            if key in data:
                return data[key]
            layer = layer.parent
        return default

    def set(self, owner: Any, name: str, value: Any) -> None:
        key = (owner, name)
        self.data[key] = value
        if self.outermost.get(key, NOWHERE) > self.depth:
            self.outermost[key] = self.depth

    def items_of(self, owner: Any) -> list[str]:
        """The names under which items of something unseen are known: `['loss']`."""
        names: dict[str, None] = {}
        layer: Store | None = self
        while layer is not None:
            names.update((name, None) for its, name in layer.data if its is owner and name[:1] == "[")
            layer = layer.parent
        return list(names)

    def writes_since(self, base: Store) -> dict[tuple[Any, str], Any]:
        """All that was written in this layer and those below it, down to but without `base`."""
        if self.parent is base:
            return self.data
        layers = []
        layer: Store | None = self
        while layer is not None and layer is not base:
            layers.append(layer.data)
            layer = layer.parent
        merged: dict[tuple[Any, str], Any] = {}
        for data in reversed(layers):
            merged.update(data)
        return merged

    def merge(self, branches: list[dict[tuple[Any, str], Any]], guards: int = NOWHERE, since: int = NOWHERE) -> None:
        """Writes into this layer what is known after one of several branches was taken, each given by its writes. `guards`
        tells how many conditions this layer stands under: what was made under more is not there in the other branches; nor is what was
        made since the branches began."""
        if len(branches) == 1:
            self.data.update(branches[0])
            self._note(branches[0])
            return
        keys: dict[tuple[Any, str], None] = {}
        for branch in branches:
            keys.update(dict.fromkeys(branch))
        data = self.data
        for key in keys:
            base = MISSING
            result: Any = MISSING
            for branch in branches:
                if key in branch:
                    value = branch[key]
                else:
                    if base is MISSING:
                        base = self.peek(key[0], key[1], UNSET)
                    if base is UNSET and _only_in_branch(key[0], guards, since):
                        continue
                    value = base
                if result is MISSING:
                    result = value
                elif result is not value:
                    result = _join(result, value)
            data[key] = result
        self._note(keys)

    def _note(self, keys: dict[tuple[Any, str], Any]) -> None:
        outermost, depth = self.outermost, self.depth
        for key in keys:
            if outermost.get(key, NOWHERE) > depth:
                outermost[key] = depth


def _only_in_branch(owner: Any, guards: int, since: int) -> bool:
    """Whether there is nothing in the other branches that something could be known of."""
    if owner.__class__ in _MADE_WHOLE or len(getattr(owner, "under", ())) > guards:
        return True
    return owner.__class__ is Instance and owner.born > since


def _join(a: Any, b: Any) -> Any:
    if a is b:
        return a
    if isinstance(a, Value) and isinstance(b, Value):
        return join(a, b)
    if isinstance(a, Items) and isinstance(b, Items):
        return a.join(b)
    if isinstance(a, Items) or isinstance(b, Items):
        items = a if isinstance(a, Items) else b
        return Items(items.known, True, items.of_known_kinds)  # on the other path it was not made
    return a if a == b else None


class Items:
    """The items of a list or dict. `open`: there may be others, or some may be missing. `alike`: these others are made where the
    known ones are, as in `[Block(width) for _ in range(depth)]`. Of a list that doubles with every line the first ones are
    enough. `sometimes`: the keys of a dict that were set on some of the ways that joined here. `last`: what a list ends with for
    certain, whatever else is in it."""

    __slots__ = ("alike", "known", "last", "open", "sometimes")

    def __init__(self, known: Any, open: bool = False, alike: bool = False, sometimes: frozenset[Any] = frozenset(), last: Any = None):
        too_many = type(known) is tuple and len(known) > MOST_ITEMS
        self.known, self.open = (known[:MOST_ITEMS], True) if too_many else (known, open)
        self.alike = self.open and alike and not too_many
        self.sometimes, self.last = sometimes, last

    @property
    def of_known_kinds(self) -> bool:
        """Whether each item is one of the known ones, or is made where one of them is."""
        return not self.open or self.alike

    def join(self, other: Items) -> Items:
        alike = self.of_known_kinds and other.of_known_kinds
        if isinstance(self.known, dict) and isinstance(other.known, dict):
            merged = dict(self.known)
            for key, value in other.known.items():
                merged[key] = join(merged[key], value) if key in merged else value
            sometimes = self.sometimes | other.sometimes | (self.known.keys() ^ other.known.keys())
            return Items(merged, self.open or other.open or bool(sometimes), alike, sometimes)
        if isinstance(self.known, tuple) and isinstance(other.known, tuple):
            if len(self.known) == len(other.known):
                last = self.last if self.last is other.last else None
                return Items(tuple(map(join, self.known, other.known)), self.open or other.open, alike, last=last)
            longer, shorter = sorted((self.known, other.known), key=len, reverse=True)
            if longer[: len(shorter)] == shorter:
                return Items(longer, True, alike)
            return Items(longer + tuple(v for v in shorter if v not in longer), True, alike)
        return Items(self.known, True)
