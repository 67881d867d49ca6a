"""Methods that do one training step, or one epoch, and that nobody calls in view: a run of one is a turn of a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Class, Dict, Event, Func, Instance, Opaque, Seq, Tensor, Value, real
from torchlint.sieve.facts import Unit, units_of

_AN_EPOCH = re.compile(r"^_*(?:(?:train|run|fit|training)_(?:one_|an_|a_|single_)?epoch|epoch_train)$")
_ONCE = re.compile(r"^test|^(?:set_?up|tear_?down|__init__|main)", re.IGNORECASE)
_SHARE = 3  # a method is run up to three times: what took more than that part of a run is not begun again
# Bases that neither step nor clear by themselves.
_PLAIN = frozenset({"torch.nn.Module", "object", "abc.ABC", "ABC", "typing.Generic", "typing.Protocol"})


class Turns:
    """The part of a run that begins with such methods. See `interpreter.Run` for the state it works on."""

    def run_turns(self, func: Func, instance: Instance) -> None:
        """Runs a method that nothing seen calls; once more in a loop, where it is a whole step on what its object keeps."""
        mark, store = self.graph.mark(), type(self.store)(self.store)
        self.store, base = store, self.store
        others, self.entered = self.entered, set()
        self.run_root_function(func, instance)
        inside = self.entered
        others |= inside
        self.entered = others
        events = self.graph.events[mark[0] :]
        if not self._is_turn(func, instance, events):
            self.store = base
            self.meet([(store.writes_since(base), self.graph.tails)])
            return
        self.graph.undo(mark)
        self.store = base
        definition, parsed = self.definition(func)
        between = self._cleared_between(func, instance, events, inside)

        def turn() -> None:
            if between:
                self.parsed = parsed
                self.emit("unknown", instance, definition.name, name="zero_grad", args=[])
            self.run_root_function(func, instance)

        self.parsed = parsed
        self.run_loop("turns", definition.name, None, turn)

    def _is_turn(self, func: Func, instance: Instance, events: list[Event]) -> bool:
        """Whether a method computes gradients, or clears them for a loss, and steps with an optimizer that is there before and
        after it; and no caller is in view, whose run was too much."""
        depth = 1 if _AN_EPOCH.match(func.name) else 0
        if self.alone or self.orphan or self.graph.dead or _ONCE.match(func.name) or self.steps > self.most_steps // _SHARE:
            return False
        steps = [event for event in events if event.kind == "optimizer.step" and len(event.loops) == depth]
        done = {event.kind for event in events if len(event.loops) == depth}
        return (
            ("backward" in done or {"loss", "optimizer.zero_grad"} <= done)
            and (any(self._keeps(instance, step.subject) for step in steps) or self._updates_by_hand(instance, events, depth))
            and not any(event.kind == "optimizer.create" for event in events)
        )

    def _keeps(self, instance: Instance, optimizer: Value | None) -> bool:
        """Whether an object keeps an optimizer: what is given to a method belongs to somebody who may clear it."""
        kept = {id(alt) for _, value in self.attributes_of(instance) for alt in self._with_items(value)}
        alts = real(optimizer)
        return bool(alts) and all(id(alt) in kept or _read_from(alt, instance) for alt in alts)

    def _updates_by_hand(self, instance: Instance, events: list[Event], depth: int) -> bool:
        """Whether an attribute of the object that goes backward is changed in place: `self.weight -= 0.1 * self.weight.grad`."""
        for event in events:
            if event.kind != "augment" or len(event.loops) != depth:
                continue
            target = event.get("target")
            own = isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and target.value.value == "self"
            leaf = all(isinstance(alt, Tensor) and alt.traits.get("leaf") for alt in real(event.subject))
            if own and leaf and any(alt.traits.get("grad_of") for alt in self._made_of(event.get("value"))):
                return True
        return False

    def _made_of(self, value: Value | None) -> Iterator[Tensor]:
        return (part for alt in real(value) for part in (alt, *alt.parts) if isinstance(part, Tensor))

    def _with_items(self, value: Value, depth: int = 0) -> Iterator[Value]:
        for alt in real(value) if depth < 3 else ():
            yield alt
            if isinstance(alt, (Seq, Dict)):
                for item in self.known_items(alt):
                    yield from self._with_items(item, depth + 1)
            elif isinstance(alt, Instance) and isinstance(alt.cls, Class):
                for _, item in self.attributes_of(alt):  # `self.critic.optimizer`
                    yield from self._with_items(item, depth + 1)

    def _cleared_between(self, func: Func, instance: Instance, events: list[Event], inside: set[int]) -> bool:
        """Whether somebody may clear the gradients between two turns: another method, a base class or a subclass that is not
        in view, or who calls the method."""
        cls = instance.cls
        if not isinstance(cls, Class) or not set(cls.externals()) <= _PLAIN:
            return True
        owners = {alt.cls for _, value in self.attributes_of(instance) for alt in real(value) if isinstance(alt, Instance)}
        homes = [home for owner in (cls, *owners) if isinstance(owner, Class) for home in owner.mro() if isinstance(home, Class)]
        if any(_clears(unit) for home in homes for unit in home.cf.methods.values() if id(unit) not in inside):
            return True
        names = {func.name, cls.name}
        if any(_clears(unit) and unit.words & names for unit in units_of(func.facts) if id(unit) not in inside):
            return True
        if any(event.kind == "optimizer.zero_grad" for event in events):
            return False
        project = self.world.project_of(func.facts.path)
        called = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
        return project is not None and any(
            "zero_grad" in user.code and called.search(user.code) for user in project.users(func.facts.path)
        )


def _clears(unit: Unit) -> bool:
    return "zero_grad" in unit.words or "grad" in unit.words and bool({"!setattr", "zero_"} & unit.words)


def _read_from(value: Value, instance: Instance) -> bool:
    for _ in range(6):
        if value is instance:
            return True
        if not isinstance(value, Opaque) or value.source not in ("attr", "item") or value.origin is None:
            return False
        value = value.origin
    return False
