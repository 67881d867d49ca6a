"""Numbers of NumPy's that a program puts into the groups of an optimizer, `group["lr"] = lr * np.cos(...)`: these are in its state."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Method, Opaque, Value, real
from torchlint.rules.base import View
from torchlint.rules.mends.rows import call_at, statement_at, text_of, tree_of
from torchlint.rules.shared.blocks import conditions_at, exclude_each_other
from torchlint.rules.shared.file_names import bindings_of

_KEY = re.compile(r"\[[\"'](\w+)[\"']\]$")
_ALIAS = re.compile(r"^import numpy as (\w+)|^import (numpy)\b", re.MULTILINE)
_ALL = re.compile(r"^from [\w.]+ import \*", re.MULTILINE)  # with it comes `np`, where a program uses that and imports it nowhere
# Functions that give a number, or an array, of NumPy's, whatever number they are given.
_GIVE = frozenset("""interp cos sin tanh exp exp2 log log2 log10 sqrt power square minimum maximum min max amin amax mean median average sum prod clip floor
ceil round array asarray linspace logspace geomspace arange full ones zeros concatenate append cumsum float32 float64 int64 where""".split())
_KEEP = frozenset({"sum", "mean", "max", "min", "prod", "copy", "astype"})
_CYCLES = (".OneCycleLR", ".CyclicLR")  # they set the momentum, too
_DEEP = 16


def numpys_in_groups(view: View, optimizer: Value | None) -> str | None:
    """The key under which the groups of an optimizer get a number of NumPy's, wherever they are given something under that key."""
    if not isinstance(optimizer, Instance) or optimizer.kind != "optimizer":
        return None
    set_to: dict[str, list[Event]] = {}
    for event in view.of("item.set"):
        key = _KEY.search(event.site.parsed.text(event.target))
        if key is not None and any(_is_group_of(alt, optimizer) for alt in real(event.subject)):
            set_to.setdefault(key[1], []).append(event)
    return next((key for key, events in set_to.items() if not _is_scheduled(view, key) and all(map(_gives_numpys, events))), None)


def _is_group_of(value: Value, optimizer: Instance) -> bool:
    groups = value.origin if isinstance(value, Opaque) and value.source == "item" else None
    return isinstance(groups, Method) and groups.name == "param_groups" and groups.owner is optimizer


def _is_scheduled(view: View, key: str) -> bool:
    """Whether a scheduler may set the same number to a plain one again."""
    steps = view.of("scheduler.step")
    return bool(steps) if key in ("lr", "initial_lr") else any(getattr(step.subject, "type", "?").endswith((*_CYCLES, "?")) for step in steps)


def _gives_numpys(event: Event) -> bool:
    """Whether an assignment to an item gives it a number of NumPy's, on one of the ways to it at least."""
    place = statement_at(event.site)
    if place is None or not isinstance(place.statement, (ast.Assign, ast.AugAssign)):
        return False
    return _Numbers(event.site).gives(place.statement.value, place.statement.lineno, list(event.calls))


class _Numbers:
    """The numbers of the function that a place stands in."""

    def __init__(self, site: Site):
        text = text_of(site.parsed)
        self._lines = site.parsed.facts.lines
        self._numpy = {name for found in _ALIAS.finditer(text) for name in found.groups() if name} or ({"np"} if _ALL.search(text) else set())
        self._names = bindings_of(text)
        self._scope = self._names.scope_at(site.location().row)
        self._function = next((node for node in ast.walk(tree_of(text)) if isinstance(node, ast.FunctionDef) and node.lineno == self._scope), tree_of(text))

    def gives(self, value: ast.expr, row: int, calls: list[Site], depth: int = 0) -> bool:
        """Whether an expression in a row is a number of NumPy's; `calls` lead to the function."""
        if depth > _DEEP:
            return False
        inner = lambda part: self.gives(part, row, calls, depth + 1)
        if isinstance(value, ast.BinOp):
            return inner(value.left) or inner(value.right)
        if isinstance(value, ast.UnaryOp):
            return inner(value.operand)
        if isinstance(value, ast.Compare):
            return inner(value.left) or any(map(inner, value.comparators))
        if isinstance(value, ast.Subscript):
            return inner(value.value)
        if isinstance(value, ast.IfExp):
            return inner(value.body) and inner(value.orelse)
        if isinstance(value, ast.Call):
            return self._is_made(value, inner)
        if not isinstance(value, (ast.Name, ast.Attribute)):
            return False
        return self._is_set(ast.unparse(value), row, calls, depth)

    def _is_made(self, call: ast.Call, inner: Callable[[ast.expr], bool]) -> bool:
        func = call.func
        if isinstance(func, ast.Attribute):
            of_numpy = isinstance(func.value, ast.Name) and func.value.id in self._numpy
            return func.attr in _GIVE if of_numpy else func.attr in _KEEP and inner(func.value)
        if not isinstance(func, ast.Name) or not call.args:
            return False
        return func.id in ("max", "min", "sum") and all(map(inner, call.args))

    def _is_set(self, name: str, row: int, calls: list[Site], depth: int) -> bool:
        """The same of a name, by what was put into it last, or on one of the ways to a row."""
        set_again = []
        for at, value in sorted(self._sets(name), key=lambda found: -found[0]):
            under = conditions_at(self._lines, at)
            if at >= row or exclude_each_other(self._lines, at, row) or any(later <= under for later in set_again):
                continue
            if self.gives(value, at, calls, depth + 1):
                return True
            set_again.append(under)
            if under <= conditions_at(self._lines, row) or re.search(rf"(?<![\w.]){re.escape(name)}\b", ast.unparse(value)):
                return False
        return self._is_given(name, calls, depth)

    def _sets(self, name: str) -> Iterator[tuple[int, ast.expr]]:
        for node in ast.walk(self._function):
            if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets):
                yield node.lineno, node.value
            elif isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name:
                yield node.lineno, ast.BinOp(node.target, node.op, node.value)

    def _is_given(self, name: str, calls: list[Site], depth: int) -> bool:
        """The same of what the function is called with."""
        call = call_at(calls[-1]) if calls and calls[-1].parsed.facts.lines is self._lines else None
        given = self._names.argument(call, self._scope, name) if call is not None else None
        return given is not None and _Numbers(calls[-1]).gives(given, calls[-1].location().row, calls[:-1], depth + 1)
