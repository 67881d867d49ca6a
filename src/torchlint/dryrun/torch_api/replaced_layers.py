"""A Sequential or ModuleList whose layers are replaced or taken out: `net[-1] = nn.Identity()`, `del net[3]`, `net.pop(3)`."""

from __future__ import annotations

from torchlint.dryrun.store import Items
from torchlint.dryrun.values import Const, Instance, Value, number, real


class ReplacedLayers:
    """The part of a run that knows which layers a list of layers holds after a change. See `interpreter.Run` for the state it
    works on."""

    def put_layer(self, owner: Value, key: Value | None, value: Value) -> None:
        """A layer takes the place of the one at `key`; where it is not known which one that is, it may be any."""
        items = self._layers_of(owner)
        if items is None:
            return
        at = _index(key)
        if not items.open and at is not None and -len(items.known) <= at < len(items.known):
            at %= len(items.known)
            self._lets_go(owner, items.known[at])
            changed = Items((*items.known[:at], value, *items.known[at + 1 :]))
        else:
            for item in items.known:
                self._lets_go(owner, item)
            changed = Items((*items.known, value), True, items.of_known_kinds, last=value if at == -1 else None)
        self.store.set(owner, "[]", changed)
        self.adopt(owner, value)

    def take_layer(self, owner: Value, key: Value | None) -> None:
        """The layer at `key` is taken out."""
        items = self._layers_of(owner)
        if items is None:
            return
        at = _index(key)
        if not items.open and at is not None and -len(items.known) <= at < len(items.known):
            at %= len(items.known)
            self._lets_go(owner, items.known[at])
            changed = Items((*items.known[:at], *items.known[at + 1 :]))
        else:
            for item in items.known:
                self._lets_go(owner, item)
            changed = Items(items.known, True, items.of_known_kinds)
        self.store.set(owner, "[]", changed)

    def _layers_of(self, owner: Value) -> Items | None:
        return self.store.get(owner, "[]") if isinstance(owner, Instance) and owner.kind == "module" else None

    def _lets_go(self, owner: Value, layer: Value) -> None:
        """What was run through the owner's forward may be another thing from now on, and the layer may be in it no more."""
        self.replaced += 1
        for alt in real(layer):
            if isinstance(alt, Instance):
                self.unsure_children.add((id(owner), id(alt)))


def _index(key: Value | None) -> int | None:
    """The place that a key names: a number, or the name that a Sequential gives the layer there, as in `_modules["3"]`."""
    if isinstance(key, Const) and isinstance(key.value, str) and key.value.isdecimal():
        return int(key.value)
    at = number(key) if key is not None else None
    return at if type(at) is int else None
