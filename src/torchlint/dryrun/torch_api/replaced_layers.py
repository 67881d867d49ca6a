"""A Sequential or ModuleList whose layers are replaced or taken out: `net[-1] = nn.Identity()`, `del net[3]`, `net.pop(3)`."""

from __future__ import annotations

from torchlint.dryrun.store import Items
from torchlint.dryrun.values import Const, Instance, Value, number, real


class ReplacedLayers:
    """The part of a run that knows which layers a list of layers holds after a change. See `interpreter.Run` for the state it
    works on."""

    def put_layer(self, owner: Value, key: Value | None, value: Value) -> None:
        """A layer takes the place of the one at `key`; where it is not known which one that is, it may be any."""
        if self._change(owner, key, (value,)):
            self.adopt(owner, value)

    def take_layer(self, owner: Value, key: Value | None) -> None:
        """The layer at `key` is taken out."""
        self._change(owner, key, ())

    def _change(self, owner: Value, key: Value | None, new: tuple[Value, ...]) -> bool:
        """Notes what stands in the place of the layer at `key` from now on; whether the owner is a list of layers."""
        items = self.store.get(owner, "[]") if isinstance(owner, Instance) and owner.kind == "module" else None
        if items is None:
            return False
        known, at = items.known, _index(key)
        if not items.open and at is not None and -len(known) <= at < len(known):
            at %= len(known)
            gone, changed = known[at : at + 1], Items((*known[:at], *new, *known[at + 1 :]))
        else:
            last = new[0] if new and at == -1 else None
            gone, changed = known, Items((*known, *new), True, items.of_known_kinds, last=last)
        for layer in gone:
            self._lets_go(owner, layer)
        self.store.set(owner, "[]", changed)
        return True

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
