"""Walks over libcst's trees. A node's own `children` rebuilds the node to find them; here the fields are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import libcst as cst

_NO_NODES = frozenset({type(None), str, int, bool, cst.MaybeSentinel})  # what else fields hold
# What says nothing of the program: whitespace, punctuation, brackets.
LAYOUT = frozenset(
    """header footer lpar rpar lbracket rbracket lbrace rbrace comma semicolon equal colon dot leading_lines lines_after_decorators
    newline trailing_whitespace encoding default_indent default_newline has_trailing_newline indent asynchronous star value_is_str
    relative separator first_colon second_colon start end""".split()
)
_fields: dict[type, tuple[str, ...]] = {
    # In the order in which they stand, and run.
    cst.IfExp: ("body", "test", "orelse"),
    cst.FunctionDef: ("decorators", "name", "params", "returns", "body"),
    cst.ClassDef: ("decorators", "name", "bases", "keywords", "body"),
    cst.Arg: ("keyword", "value"),
    cst.ExceptHandler: ("type", "name", "body"),
    cst.ExceptStarHandler: ("type", "name", "body"),
    cst.Parameters: ("posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg"),
    **dict.fromkeys((cst.Name, cst.Integer, cst.Float, cst.SimpleString), ()),
}


def _fields_of(kind: type) -> tuple[str, ...]:
    found = tuple(field.name for field in fields(kind) if field.name not in LAYOUT and "whitespace" not in field.name)
    _fields[kind] = found
    return found


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes directly in a node, in the order in which they stand; not whitespace, commas and brackets."""
    kind = type(node)
    found: list[cst.CSTNode] = []
    names = _fields.get(kind)
    for name in _fields_of(kind) if names is None else names:
        value = getattr(node, name)
        held = type(value)
        if held is tuple or held is list:
            found.extend(value)
        elif held not in _NO_NODES:  # `isinstance` asks an abstract class, which takes as long as all else here
            found.append(value)
    return found


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that is in it, outer ones first, as they stand in the text."""
    todo = [node]
    while todo:
        item = todo.pop()
        yield item
        todo.extend(reversed(children(item)))
