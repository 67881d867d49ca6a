"""Where paths part and meet again: branches, loops, and the jumps out of these."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import libcst as cst

from torchlint.dryrun.guards import Asked, Guard, bound_to, varying
from torchlint.dryrun.plain import items_of
from torchlint.dryrun.store import NOWHERE, Items, Store
from torchlint.dryrun.values import Const, Event, Loop, Opaque, Tensor, Value, alternatives, now, same


class Jumps:
    """The paths that leave a loop body before its end."""

    __slots__ = ("base", "breaks", "continues")

    def __init__(self, base: Store):
        self.base = base
        self.breaks: list = []
        self.continues: list = []


class Paths:
    """The part of a run that follows several paths. See `interpreter.Run` for the state it works on."""

    def branch(self, paths) -> None:
        """Runs each of several paths from here, then goes on with what is known on all of them."""
        base, tails, began = self.store, self.graph.tails, now()
        ends = []
        for path in paths:
            self.store = Store(base)
            self.graph.tails = list(tails)
            path()
            if not self.graph.dead:
                ends.append((self.store.writes_since(base), self.graph.tails))
        self.store = base
        self.meet(ends, began)

    def meet(self, ends, began: int = NOWHERE) -> None:
        """Goes on after paths that end here, each given by its writes and its last events; `began` is when they parted."""
        tails: dict[Event, None] = {}
        for _, last in ends:
            tails.update(dict.fromkeys(last))
        if ends:
            self.store.merge([writes for writes, _ in ends], len(self.guards), began)
        self.graph.tails = list(tails)
        if len(tails) > 6:
            self.graph.add(Event("join", None, None, self.loops, self.call_sites, {}))

    @contextmanager
    def guarded(self, guards: tuple[Guard, ...]):
        old = self.guards
        self.guards = (*old, *guards)
        try:
            yield
        finally:
            self.guards = old

    def guards_of(self, test: cst.BaseExpression, holds: bool) -> tuple[Guard, ...]:
        """What holds where a condition does, or does not: both sides of an `and`, neither of an `or`."""
        if type(test) is cst.UnaryOperation and type(test.operator) is cst.Not and type(test.expression) is cst.BooleanOperation:
            return self.guards_of(test.expression, not holds)
        if type(test) is cst.BooleanOperation and (type(test.operator) is cst.And) == holds:
            return (*self.guards_of(test.left, holds), *self.guards_of(test.right, holds))
        return (self._guard(test, holds),)

    def both_sides(self, test: cst.BaseExpression) -> tuple[tuple[Guard, ...], tuple[Guard, ...]]:
        """What holds where a condition does, and what where it does not."""
        if type(test) is cst.BooleanOperation or type(test) is cst.UnaryOperation:
            return self.guards_of(test, True), self.guards_of(test, False)
        guard = self._guard(test, True)
        return (guard,), (guard.contrary(),)

    def settled(self, holding: tuple[Guard, ...], failing: tuple[Guard, ...]) -> bool | None:
        """Whether a condition holds, or not, by the conditions that this stretch of the program stands under already."""
        for guards, answer in ((holding, False), (failing, True)):
            for guard in guards:
                if guard.lasting and guard.contrary() in self.guards:
                    return answer
        return None

    def _guard(self, test: cst.BaseExpression, holds: bool) -> Guard:
        asked = self.asked.get(id(test))
        if asked is None:
            asked = self.asked[id(test)] = Asked(self.site(test))
        reads = [self.peek(node) for node in asked.reads]
        known = tuple(value for value in reads if value is not None)
        varies: tuple[Loop, ...] = self.loops if "%" in asked.text or not asked.steady else ()
        for node, value in zip(asked.reads, reads) if self.loops else ():
            if value is not None:
                loops = self._loops_around_call() if self._is_kept_parameter(node) else self.loops
                varies = max(varies, varying(value, loops, self.made_in), key=len)
        where = () if asked.steady else (id(test),)
        condition = (asked.text, *where, *(bound_to(value) if value is not None else None for value in reads))
        return Guard(self.site(test), holds, condition, holds is asked.positive, known, varies)

    def _is_kept_parameter(self, node: cst.BaseExpression) -> bool:
        """Whether a name is a parameter of the function that runs, which sets it nowhere: it is the same from the call to its end."""
        func = self.frame.func
        if type(node) is not cst.Name or func is None or func.unit is None or node.value in func.unit.binds:
            return False
        definition = func.node
        return type(definition) is cst.FunctionDef and any(
            param.name.value == node.value
            for param in (*definition.params.posonly_params, *definition.params.params, *definition.params.kwonly_params)
        )

    def _loops_around_call(self) -> tuple[Loop, ...]:
        """The loops that the function that runs was called in: what it was given is another one in their next rounds, and in none of its own."""
        return tuple(loop for loop in self.loops if loop.serial < self.frame.born)

    def run_loop(self, kind: str, node, over: Value | None, step, endless: bool = False, orelse=None) -> None:
        """Runs a loop body until what is known at its head and asked for in it no longer changes, twice at most."""
        once = _once(node)
        loop = Loop(kind, over, self.site(node), once)
        outer = self.loops
        self.loops = (*outer, loop)
        head = self.emit("loop", over, node, loop=loop)
        if self.graph.dead:
            self.loops = outer
            return
        base = self.store
        mark = self.graph.mark()
        passes = 2 if len(self.loops) <= 3 and not once else 1
        for number in range(passes):
            last, short, outer_trial, forwards = number == passes - 1, self.cut_short, self.trial, len(self.forwards)
            self.trial = outer_trial or not last
            jumps = Jumps(base)
            self.jumps.append(jumps)
            self.store = Store(base)
            read = self.store.through = None if last else set()
            try:
                step()
                ends = list(jumps.continues)
                if not self.graph.dead:
                    ends.append((self.store.writes_since(base), self.graph.tails))
            finally:
                self.jumps.pop()
                self.store, self.trial = base, outer_trial
            if last:
                break
            after = Store(base)
            after.merge([{}, *(writes for writes, _ in ends)], since=loop.serial)
            changed = _changed(base, after.data, read)
            if outer_trial:  # an outer loop's first pass: what it leaves at that loop's head is enough
                self.cut_short += changed
                break
            if not changed and self.cut_short == short:
                break
            self.graph.undo(mark)
            if changed:
                base.data.update(after.data)
            if not changed or not self.in_forward():  # within a model what is left out are layers of layers, and they are many
                self.forget_forwards(forwards)
        if not once:
            for _, tails in ends:
                self.graph.link(head, tails)
        self.loops = outer
        if once:
            exits = ends
        else:
            exits = [] if endless else [({}, [head]), *((writes, []) for writes, _ in ends)]
        self.graph.tails = []
        if exits:
            self.meet(exits, loop.serial)
            if orelse is not None:
                after_loop = self.graph.tails
                self.graph.tails = after_loop
                self.suite(orelse.body)
        if jumps.breaks:
            normal = [({}, self.graph.tails)] if not self.graph.dead else []
            self.meet(normal + jumps.breaks, loop.serial)

    def leave(self, kind: str) -> None:
        if self.jumps and not self.graph.dead:
            jumps = self.jumps[-1]
            where = jumps.breaks if kind == "break" else jumps.continues
            where.append((dict(self.store.writes_since(jumps.base)), self.graph.tails))
        self.graph.tails = []


def _once(node: cst.CSTNode) -> bool:
    """`for epoch in range(1)`: a loop in name only."""
    over = node.iter if type(node) is cst.For else None
    return (
        type(over) is cst.Call and type(over.func) is cst.Name and over.func.value == "range"
        and len(over.args) == 1 and type(over.args[0].value) is cst.Integer and over.args[0].value.value == "1"
    )


def _changed(base: Store, writes: dict, read: set[tuple[Any, str]]) -> bool:
    """Whether a loop's next round begins with something else than this one did, and asks for that: `read` is what this one asked
    for."""
    for key, value in writes.items():
        if key not in read:
            continue
        old = base.peek(*key)
        if old is None or old is value:
            continue
        if isinstance(value, Value) and isinstance(old, Value):
            if same(old, value) or _may_be(old) == _may_be(value):
                continue
            return True
        if not isinstance(value, Value):
            if type(value) is type(old) and getattr(value, "known", value) == getattr(old, "known", old):
                continue
            if isinstance(value, Items) and isinstance(old, Items) and old.known and _items_may_be(old) == _items_may_be(value):
                continue
            return True
    return False


def _may_be(value: Value) -> set[object]:
    """What a value may be, as far as the next round can do something else for it: numbers, texts and unknown things that nothing
    of torch went into are all one."""
    found: set[object] = set()
    for alt in alternatives(value):
        if type(alt) is Const:
            found.add(alt.value if alt.value is None or isinstance(alt.value, bool) else "plain")
        elif type(alt) is Opaque and not alt.flows and not any(type(part) is Tensor or part.flows for part in alt.parts):
            found.add("plain")
        else:
            found.add(id(alt))
    return found


def _items_may_be(items: Items) -> set[object]:
    known = items.known
    which = tuple(known) if isinstance(known, dict) else "open" if items.open else len(known)
    return {("items", items.open, which)}.union(*map(_may_be, items_of(items)))
