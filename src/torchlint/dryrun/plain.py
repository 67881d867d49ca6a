"""What no rule has anything to say of: plain values, and events on nothing else."""

from __future__ import annotations

import re
import sys
from typing import Any

from torchlint.dryrun.store import Items
from torchlint.dryrun.values import (
    Class,
    Const,
    Dict,
    Event,
    Func,
    Instance,
    Iter,
    Member,
    Method,
    Opaque,
    ProjectModule,
    Ref,
    Seq,
    Tensor,
    Union,
    Value,
)

TAGS = frozenset({"str", "number", "numbers", "bool", "range", "file", "foreign", "numpys", "batch?", "cuda"})  # of what is nothing of torch
_KINDS = frozenset(
    """append assign augment bare called consume discarded forward item.set join loader.iterate loop method readout repeat setattr unknown""".split()
)
IN_THE_WAY = frozenset({"unknown", "called"})  # calls that cannot be seen: rules ask whether there was any
_ABOUT_THE_RUN = frozenset({"contexts", "guards", "choice", "loop"})
_DATA = re.compile(r"load|batch|sampl|data|iter", re.I)
_OF_MODELS = frozenset({"parameters", "named_parameters", "modules", "named_modules", "children", "named_children"})


def born(value: object) -> int | None:
    """When a value was made; None for what has no life of its own: constants, names, what is put together of others."""
    if isinstance(value, Opaque):
        return value.serial
    return value.born if isinstance(value, (Instance, Seq, Dict, Iter)) else None


def items_of(items: Items) -> tuple[Value, ...]:
    """What is in a container."""
    return tuple(items.known.values()) if isinstance(items.known, dict) else items.known


class Plain:
    """Tells what is plain. It remembers which sets of events and of values are: many values share one."""

    def __init__(self) -> None:
        self._flows: dict[int, frozenset] = {}
        self._parts: dict[int, frozenset] = {}
        self._trained: dict[int, Value] = {}

    def trains(self, flows: frozenset[Event]) -> None:
        """Something came out of these calls and is sent backward: what was called has a graph, whatever else it is."""
        for event in flows:
            if type(event.subject) is Opaque and id(event.subject) not in self._trained:
                self._trained[id(event.subject)] = event.subject
                self.look_again()

    def look_again(self) -> None:
        """Something unknown turned out to be of torch."""
        self._flows.clear()

    def __call__(self, value: object) -> bool:
        """Whether a value is nothing of torch, and came out of nothing of it."""
        kind = type(value)
        if kind is Opaque:
            return value.tags <= TAGS and (not value.flows or self._outside(value.flows)) and (not value.parts or self._unmixed(value.parts))
        if kind is Const or kind is Member or kind is Class or kind is ProjectModule or kind is Func:
            return True
        if kind is Seq or kind is Dict:
            return (not value.flows or self._outside(value.flows)) and (not value.parts or self._unmixed(value.parts))
        if kind is Instance:
            return value.kind == "instance"
        if kind is Ref:
            return not value.name.startswith("torch")
        if kind is Union:
            return all(map(self, value.alts))
        if kind is Iter:
            return value.kind not in _OF_MODELS and self(value.base)
        return kind is Method and self(value.owner)

    def _outside(self, flows: frozenset[Event]) -> bool:
        if id(flows) in self._flows:
            return True
        for event in flows:
            if event.kind != "forward" or type(event.subject) is not Opaque or not event.subject.tags <= TAGS:
                return False
            if id(event.subject) in self._trained:
                return False
        self._flows[id(flows)] = flows
        return True

    def _unmixed(self, parts: frozenset[Value]) -> bool:
        if id(parts) in self._parts:
            return True
        for part in parts:
            if type(part) is Tensor:
                return False
        self._parts[id(parts)] = parts
        return True

    def written(self, value: object) -> bool:
        """Whether what is in the store is plain."""
        if isinstance(value, Items):
            return all(map(self, items_of(value)))
        return self(value) if isinstance(value, Value) else value is None or isinstance(value, (bool, int, str))

    def event(self, event: Event, since: int) -> bool:
        """Whether an event is about plain values only. What is called must be no model for certain."""
        kind, subject = event.kind, event.subject
        if kind not in _KINDS:
            return False
        if subject is not None:
            if not self(subject) or kind in ("forward", "called") and not _no_model(subject, since):
                return False
            if kind == "item.set" and type(subject) is Ref:
                return False
            if kind == "loader.iterate" and (type(subject) is not Opaque or _DATA.search(subject.name)):
                return False
        for name, value in event.data.items() if kind != "join" else ():
            if name in _ABOUT_THE_RUN:
                continue
            if isinstance(value, Value):
                if not self(value):
                    return False
                continue
            if type(value) is dict:
                value = tuple(value.values())
            if type(value) in (tuple, list) and any(isinstance(item, Value) and not self(item) for item in value):
                return False
        return True


def _no_model(called: Value, since: int) -> bool:
    """Whether what is called is no model for certain: it was made in the call itself, or by Python's own library."""
    if type(called) is not Opaque:
        return False
    return called.serial >= since or called.source == "call" and called.name.partition(".")[0] in sys.stdlib_module_names


def closes_over(value: Any, since: int) -> bool:
    """Whether a value is a function that stands in one that was run since then: it may know its variables."""
    if isinstance(value, Items):
        return any(closes_over(item, since) for item in items_of(value))
    if isinstance(value, Union):
        return any(closes_over(alt, since) for alt in value.alts)
    return type(value) is Func and value.frame is not None and value.frame.born >= since
