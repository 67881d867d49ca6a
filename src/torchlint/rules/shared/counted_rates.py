"""Wrappers of an optimizer that set its rate by a count of their own, which begins anew where the optimizer's state is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Instance, Value, number, real
from torchlint.rules.base import View
from torchlint.rules.shared.checkpoints import in_files
from torchlint.rules.shared.kept_schedules import resumed_optimizers

RATE_OF_A_GROUP = re.compile(r"""\[["']lr["']\]$""")


def counted_anew(view: View) -> Iterator[tuple[Event, Event]]:
    """Where an optimizer's state is loaded that a training goes on from, and where its wrapper sets the count that the rate is made of."""
    for load, optimizer, steps in resumed_optimizers(view):
        training = [step.loops for step in steps]
        for wrapper in _holders(view, optimizer):
            for begun in _begun(view, wrapper):
                counted = [event for event in view.about("setattr", wrapper) if event.name == begun.name and event is not begun]
                if not any(map(_counts_on, counted)) or not all(any(event.loops == loops[: len(event.loops)] for loops in training) for event in counted):
                    continue  # it is no count, or is counted to where it was, in a loop that trains nothing
                if begun.name in _makes_rates(view, wrapper.cls) and not _set_elsewhere(view, load, begun.name):
                    yield load, begun


def _holders(view: View, optimizer: Value) -> Iterator[Instance]:
    """The objects of the project's own classes that keep an optimizer, and nothing that could keep more of them than they say."""
    for event in view.of("setattr"):
        wrapper = event.subject
        if isinstance(wrapper, Instance) and isinstance(wrapper.cls, Class) and optimizer in real(event.value):
            if set(wrapper.cls.externals()) <= {"object"}:
                yield wrapper


def _begun(view: View, wrapper: Instance) -> Iterator[Event]:
    """Where the constructor of an object sets its counts to a number."""
    for event in view.about("setattr", wrapper):
        if event.site.parsed.unit.name == "__init__" and isinstance(event.value, Const) and number(event.value) is not None and not event.loops:
            yield event


def _counts_on(event: Event) -> bool:
    """`self.steps += 1`, `self.steps = self.steps + 1`"""
    return not isinstance(event.site.node, cst.Assign) or f"self.{event.name}" in event.site.parsed.text(event.site.node.value)


def _set_elsewhere(view: View, load: Event, name: str) -> bool:
    """Whether a count may be put to where it was: by an assignment that does not count on, as an attribute by its name, or with all others."""
    sets = rf"""\.{name}\s*=(?!=)(?!\s*\d+(?:\.\d*)?\s*$)(?!\s*self\.{name}\b)|["']{name}["']|\b(?<!\.){name}=(?!=)|__dict__|\bsetattr\(|\bvars\("""
    return in_files(view, load, sets)


def _makes_rates(view: View, cls: Class) -> set[str]:
    """The attributes of an object that the rates are made of which its methods set: `group["lr"] = self.factor * self.steps`."""
    methods = _Methods(view, cls)
    for name, tree in methods.trees.items():
        for node in _assignments(tree):
            if any(RATE_OF_A_GROUP.search(tree.text(target.target)) for target in node.targets):
                methods.follow(name, node.value)
    return methods.attributes


class _Methods:
    """What an expression in a method of a class is made of: its names are looked up in the method, its arguments where it is called."""

    def __init__(self, view: View, cls: Class):
        self.trees: dict[str, Parsed] = {}
        for name, unit in cls.cf.methods.items():
            tree = view.run.world.parse(cls.facts, unit)
            if tree is not None:
                self.trees[name] = tree
        self.attributes: set[str] = set()
        self._gone_into: set[tuple[str, str]] = set()

    def follow(self, method: str, node: cst.CSTNode) -> None:
        for item in walk(node):
            if isinstance(item, cst.Attribute) and isinstance(item.value, cst.Name) and item.value.value == "self":
                self._follow_attribute(item.attr.value)
            elif isinstance(item, cst.Name):
                self._follow_name(method, item.value)

    def _follow_attribute(self, name: str) -> None:
        if name not in self.trees:
            self.attributes.add(name)
        elif self._is_new("", name):
            for node in nodes_of(self.trees[name]):
                if isinstance(node, cst.Return) and node.value is not None:
                    self.follow(name, node.value)

    def _follow_name(self, method: str, name: str) -> None:
        if not self._is_new(method, name):
            return
        for node in _assignments(self.trees[method]):
            if any(isinstance(target.target, cst.Name) and target.target.value == name for target in node.targets):
                self.follow(method, node.value)
        unit = self.trees[method].unit
        if name in unit.params:
            self._follow_argument(method, unit.params.index(name), name)

    def _follow_argument(self, method: str, place: int, name: str) -> None:
        for caller, tree in self.trees.items():
            for node in nodes_of(tree):
                if isinstance(node, cst.Call) and tree.text(node.func) == f"self.{method}":
                    given = [arg.value for at, arg in enumerate(node.args, 1) if (arg.keyword.value == name if arg.keyword else at == place)]
                    for value in given:
                        self.follow(caller, value)

    def _is_new(self, method: str, name: str) -> bool:
        new = (method, name) not in self._gone_into
        self._gone_into.add((method, name))
        return new


def nodes_of(tree: Parsed) -> Iterator[cst.CSTNode]:
    for statement in tree.body:
        yield from walk(statement)


def _assignments(tree: Parsed) -> Iterator[cst.Assign]:
    return (node for node in nodes_of(tree) if isinstance(node, cst.Assign))
