"""Loops over a few things that are all known: their turns are run one after the other, for each does something else."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.containers import is_layer
from torchlint.dryrun.paths import Jumps
from torchlint.dryrun.plain import born
from torchlint.dryrun.store import Store
from torchlint.dryrun.tree import children
from torchlint.dryrun.values import Const, Dict, Func, Instance, Iter, Method, Opaque, Seq, Union, Value, now

MOST_CALLED = 4  # functions in a list that a loop calls
MOST_PHASES = 3
MOST_THINGS = 4  # models, optimizers, loaders ... that a loop goes over
MOST_LAYERS = 32  # of torch's own, in a container
MOST_NESTED = 2  # such loops in one another
_NUMBER, _TEXT = frozenset({"number"}), frozenset({"str"})
_TRAINS = re.compile(r"train", re.IGNORECASE)


class ShortLoops:
    """The part of a run that knows such loops. See `interpreter.Run` for the state it works on."""

    def run_one_by_one(self, node: cst.For, over: Value) -> bool:
        """Runs the turns of a loop one after the other, as if there were no loop; False where it is one to be run as such."""
        each = self.few_callables(over) or self.phases(over) or self.layers_in(over) or self.few_things(over)
        jumps = _jumps(node.body) if each else frozenset()
        if not each or self.unrolled >= MOST_NESTED:
            return False
        self.consume(over, node)
        self.unrolled += 1
        base, left = self.store, []
        if cst.Break in jumps:
            self.store = Store(base)  # what has been written where a path leaves is told apart from what the later turns write
        try:
            for item in each:
                if self.graph.dead:
                    break
                self.assign(node.target, item, quiet=True)
                if jumps:
                    self._turn(node, left)
                else:
                    self.suite(node.body)
        finally:
            self.unrolled -= 1
        if node.orelse is not None and not self.graph.dead:
            self.suite(node.orelse.body)
        if cst.Break in jumps:
            turns, self.store = self.store, base
            ends = [] if self.graph.dead else [(turns.data, self.graph.tails)]
            for writes, tails, began in left:
                later = {key: value for key, value in turns.data.items() if (born(key[0]) or 0) >= began}  # of what was made later
                ends.append(({**later, **writes}, tails))
            self.meet(ends)
        return True

    def _turn(self, node: cst.For, left: list) -> None:
        """One turn that some paths leave by a `continue`: the next begins where all of them meet. Those that leave the loop, by
        a `break`, are added to `left`."""
        base, began = self.store, now()
        jumps = Jumps(base)
        self.jumps.append(jumps)
        self.store = Store(base)
        try:
            self.suite(node.body)
            ends = list(jumps.continues)
            if not self.graph.dead:
                ends.append((self.store.writes_since(base), self.graph.tails))
        finally:
            self.jumps.pop()
            self.store = base
        left.extend(({**base.data, **writes}, tails, began) for writes, tails in jumps.breaks)
        self.meet(ends)

    def few_callables(self, over: Value) -> tuple[Value, ...]:
        """What a short list of functions and methods holds, where all of it is known: such a loop calls one after the other."""
        items = self.items_of(over) if isinstance(over, Seq) else None
        return tuple(items) if items and len(items) <= MOST_CALLED and all(isinstance(item, (Func, Method)) for item in items) else ()

    def phases(self, over: Value) -> tuple[Value, ...]:
        """What `["train", "val"]` holds: a loop over it trains in one turn and evaluates in the next. So does one over the keys of a
        dict of that kind, over `[True, False]`, and over pairs that begin so: `("train", train_loader)`."""
        items = self.known_elements(over)
        if not items or len(items) > MOST_PHASES:
            return ()
        names = [self._phase(item) for item in items]
        if len(set(names)) < len(items) or None in names:
            return ()
        switched = set(names) == {True, False}
        return items if switched or all(isinstance(name, str) for name in names) and any(map(_TRAINS.match, names)) else ()

    def _phase(self, item: Value) -> str | bool | None:
        """What a turn is called, or whether it trains: by the thing itself or by the first of a pair."""
        if isinstance(item, Seq) and item.kind == "tuple":
            item = next(iter(self.items_of(item) or ()), item)
        return item.value if isinstance(item, Const) and isinstance(item.value, (str, bool)) else None

    def layers_in(self, over: Value) -> tuple[Value, ...]:
        """The layers that a Sequential or ModuleList holds, where all are known and torch's own: `for layer in self.layers: x = layer(x)`;
        of several that a `zip` goes over, too."""
        if isinstance(over, Iter) and over.kind == "enumerate":
            return tuple(self.sequence("tuple", [Const(at), layer], None) for at, layer in enumerate(self.layers_in(over.base)))
        if isinstance(over, Iter) and over.kind == "zip":
            rows = [self.layers_in(item) for item in self.items_of(over.base) or ()]
            return tuple(self.sequence("tuple", list(row), None) for row in zip(*rows)) if all(rows) else ()
        if not isinstance(over, Instance) or over.kind != "module" or over.type not in ("torch.nn.Sequential", "torch.nn.ModuleList"):
            return ()
        items = self.items_of(over) or ()
        return tuple(items) if all(map(is_layer, items)) and len(items) <= MOST_LAYERS else ()

    def last_layer(self, over: Value, node: cst.For) -> Value | None:
        """The layer that a loop over a container of layers ends with, where the others are not all known. One of the project's own,
        which may be a whole model, counts where the loop does no more than to ask it: `x = layer(x)`."""
        inner = over.base if isinstance(over, Iter) and over.kind == "enumerate" else over
        if not isinstance(inner, Instance) or inner.type not in ("torch.nn.Sequential", "torch.nn.ModuleList") or _jumps(node.body):
            return None
        items = self.store.get(inner, "[]")
        if items is None or not items.open or not (is_layer(items.last) or _is_module(items.last) and _only_assigns(node.body)):
            return None
        return items.last if inner is over else self.sequence("tuple", [Opaque("", "op", tags=_NUMBER), items.last], None)

    def few_things(self, over: Value) -> tuple[Value, ...]:
        """What a loop goes over, where that is known to the last and is models, optimizers, loaders ..., or pairs with such."""
        each = self.known_elements(over)
        return each if each and any(map(self._is_thing, each)) else ()

    def _is_thing(self, value: Value) -> bool:
        """Whether a value is an object, or a model be it one of several, or a pair with an object, that only this turn of a loop has."""
        if isinstance(value, Seq) and value.kind == "tuple":
            return any(isinstance(item, Instance) for item in self.known_items(value))
        return isinstance(value, Instance) or isinstance(value, Union) and all(getattr(alt, "kind", "") in ("module", "wrapper") for alt in value.alts)

    def known_elements(self, over: Value) -> tuple[Value, ...] | None:
        """The elements of an iterable in their order, where there are few and each is known."""
        found = None
        if isinstance(over, Seq):
            found = self.items_of(over)
        elif isinstance(over, Dict):
            known = self.known_pairs(over)
            found = tuple(key for key, _ in known) if known else None
        elif isinstance(over, Iter) and over.kind in ("items", "values", "keys"):
            known = self.known_pairs(over.base)
            if known and over.kind == "items":
                found = tuple(self.sequence("tuple", [key, value], None) for key, value in known)
            elif known:
                found = tuple(value if over.kind == "values" else key for key, value in known)
        elif isinstance(over, Iter) and over.kind == "enumerate":
            inner = self.known_elements(over.base)
            if inner:
                found = tuple(self.sequence("tuple", [Opaque("", "op", tags=_NUMBER), item], None) for item in inner)
        elif isinstance(over, Iter) and over.kind == "same":
            found = self.known_elements(over.base)
        elif isinstance(over, Iter) and over.kind == "zip":
            rows = [self.known_elements(item) for item in self.items_of(over.base) or ()]
            if rows and all(rows):
                found = tuple(self.sequence("tuple", list(row), None) for row in zip(*rows))
        return found if found and len(found) <= MOST_THINGS else None

    def known_pairs(self, owner: Value) -> list[tuple[Value, Value]] | None:
        """The keys and values of a dict, where there is nothing else in it."""
        items = self.store.get(owner, "{}") if isinstance(owner, (Dict, Instance)) else None
        if items is None or items.open or len(items.known) > MOST_THINGS:
            return None
        return [(Opaque("", "item", tags=_TEXT) if isinstance(key, str) and key[:1] == "*" else Const(key), value) for key, value in items.known.items()]


def _jumps(body: cst.BaseSuite) -> frozenset[type]:
    """How a loop's turns may end early: by `break`, by `continue`."""
    found: set[type] = set()
    todo: list[cst.CSTNode] = [body]
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind in (cst.Break, cst.Continue):
            found.add(kind)
        elif kind in (cst.For, cst.While):  # only what stands behind the `else` of an inner loop is about the outer one
            todo.extend([node.orelse] if node.orelse is not None else [])
        elif kind not in (cst.FunctionDef, cst.ClassDef):
            todo.extend(children(node))
    return frozenset(found)


def _is_module(value: Value | None) -> bool:
    return isinstance(value, Instance) and value.kind == "module"


def _only_assigns(body: cst.BaseSuite) -> bool:
    """Whether a loop's body is one assignment."""
    statements = children(body)
    return len(statements) == 1 and isinstance(statements[0], cst.SimpleStatementLine) and all(
        isinstance(part, cst.Assign) for part in statements[0].body
    )
