"""The words of a unit: one flat walk over its nodes, which calls the marks."""

from __future__ import annotations

import ast
import re

from torchlint.catalogue.vocabulary import OF_EVERY_MODULE
from torchlint.sieve.facts import Unit
from torchlint.sieve.marks.containers import mark_containers
from torchlint.sieve.marks.quotients import mark_quotients
from torchlint.sieve.marks.shapes import MARKERS, written_size
from torchlint.sieve.marks.tensors import mark_tensors
from torchlint.sieve.marks.views import mark_views
from torchlint.sieve.nodes import first_row

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TYPES = frozenset({"int", "float", "bool", "str", "Tensor"})  # of what they are called with, `marks/shapes.py` tells
# What is called by such a name gives something, or is given something to do, and is no model.
_NO_MODELS = ("fn", "func", "function", "cls", "class", "type", "factory", "callback", "hook")
# Fields that hold no nodes, or one that says nothing by itself. What is annotated says what is meant, and does nothing.
_NO_NODES = frozenset(
    """annotation returns ctx op ops id attr arg asname module level kind conversion simple type_comment""".split()
)
_MODELS = re.compile(
    "model|net|module|coder|generator|discriminator|critic|actor|policy|bone|head|classifier|student|teacher|ema|forward", re.I
)


# What adds to a container: a statement that does so sets what is in the name, too.
_ADDS = frozenset({"update", "append", "extend", "insert", "setdefault", "add"})


def read_unit(name: str, first: ast.stmt, last: ast.stmt, nodes: list, indent: bool) -> Unit:
    words: set[str] = set()
    sets: set[str] = set()
    binds: set[str] = set()
    calls: set[str] = set()
    gives: dict[str, frozenset[str]] = {}
    rearranged: list[ast.Call] = []
    subscripts: list[ast.Subscript] = []
    assigns: list[ast.Assign | ast.AnnAssign] = []
    todo = list(nodes)
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is ast.Attribute:
            if node.attr != "Tensor":
                words.add(node.attr)
            if type(node.ctx) is not ast.Load:
                words.add("!setattr")
                if node.attr in OF_EVERY_MODULE:
                    words.add("!replaced")
                if node.attr[:5] == "requi":
                    words.add("!flag")
                if type(node.value) is ast.Name and node.value.id == "self":
                    sets.add(node.attr)
                if "best" in node.attr:
                    words.add("!best")
            elif node.attr == "state_dict":
                words.add("!state")
            todo.append(node.value)
            continue
        if kind is ast.Name:
            if node.id not in _TYPES:
                words.add(node.id)
            if type(node.ctx) is not ast.Load:
                binds.add(node.id)
                if "best" in node.id.lower():
                    words.add("!best")
            continue
        if kind is ast.Constant:
            if type(node.value) is str:
                if node.value == "input_ids":
                    words.add("!ids")
                elif node.value == "--local_rank" or "torch.distributed.launch" in node.value:
                    words.add("!launch")
            continue
        if kind in _DEFINITIONS:
            binds.add(node.name)  # under a condition: `try: import x; def f ... except ImportError: def f ...`
        elif name[0] == "<" and (kind is ast.Expr or kind is ast.Subscript) and (changed := _changed(node)) is not None:
            binds.add(changed)
        mark = MARKERS.get(kind)
        if mark is not None:
            mark(node, words)
        if kind is ast.Call and node.args:
            called = _model(node.func)
            if called is not None:
                calls.add(called)
            if (len(node.args) > 1 or type(node.args[0]) is ast.Tuple) and getattr(node.func, "attr", "") in ("view", "reshape"):
                rearranged.append(node)
        if kind is ast.Subscript:
            subscripts.append(node)
        elif kind is ast.For:
            assigns.append(node)
        elif kind is ast.Assign or kind is ast.AnnAssign:
            value = node.value
            if type(value) is ast.Call and getattr(value.func, "attr", "") == "load_state_dict":
                words |= {"!loaded", "!loading"}
            assigns.append(node)
            if kind is ast.Assign and type(value) is not ast.Name and type(value) is not ast.Constant:
                _worth(node, gives, name[0] == "<")
        for field in _inner.get(kind) or _inner_of(kind):
            value = getattr(node, field, None)
            if type(value) is list:
                todo += value
            elif value is not None:
                todo.append(value)
    if rearranged:
        mark_views(rearranged, nodes, words)
    mark_containers(assigns, words)
    mark_tensors(assigns, words, name == "forward")
    mark_quotients(assigns, subscripts, words)
    return Unit(
        name, first_row(first), last.end_lineno, indent, (), frozenset(words), frozenset(sets), frozenset(binds),
        frozenset(calls), gives, nodes=list(nodes)
    )


_inner: dict[type, tuple[str, ...]] = {}  # by kind of node: the fields that may hold others


def _inner_of(kind: type) -> tuple[str, ...]:
    found = tuple(field for field in getattr(kind, "_fields", ()) if field not in _NO_NODES)
    _inner[kind] = found
    return found


def _model(func: ast.expr) -> str | None:
    """The name of what is called, where that may be a model; "" where it is one of no name or of another object."""
    kind = type(func)
    if kind is ast.Name:
        name = func.id
        return None if name[0].isupper() or name.endswith(_NO_MODELS) else name
    if kind is ast.Attribute:
        of_self = type(func.value) is ast.Name and func.value.id == "self"
        return "" if of_self or _MODELS.search(func.attr) else None
    return ""


def _worth(node: ast.Assign, gives: dict[str, frozenset[str]], outside: bool) -> None:
    """Notes which classes and functions the value of `self.x` (or of a name outside functions) is made of: where
    it is used, it counts as if they were named there."""
    for target in node.targets:
        if type(target) is ast.Attribute and type(target.value) is ast.Name and target.value.id == "self":
            key = target.attr
        elif outside and type(target) is ast.Name:
            key = target.id
        else:
            continue
        found = set()
        for part in ast.walk(node.value):
            if type(part) is ast.Attribute:
                found.add(part.attr)
            elif type(part) is ast.Name:
                found.add(part.id)
            elif type(part) is ast.Call and written_size(part):
                found.add("!sized")
        bare = type(node.value) is ast.Attribute  # a function, by its name
        gives[key] = gives.get(key, frozenset()) | {word for word in found if bare or word[:1].isupper() or word[0] == "!"}


def _changed(node: ast.Expr | ast.Subscript) -> str | None:
    """The name of the container that something is put into: `options` of `options.update(more)` and `options["shuffle"] = True`."""
    owner = None
    if type(node) is ast.Subscript:
        owner = node.value if type(node.ctx) is ast.Store else None
    elif type(node.value) is ast.Call and type(node.value.func) is ast.Attribute and node.value.func.attr in _ADDS:
        owner = node.value.func.value
    return owner.id if type(owner) is ast.Name else None
