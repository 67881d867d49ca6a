"""Marks units in which something is indexed by what was divided: `x[labels / 2]`."""

from __future__ import annotations

import ast


def mark_quotients(assigns: list, subscripts: list[ast.Subscript], words: set[str]) -> None:
    """Marks a unit where that was given a name before."""
    divided = {
        target.id for assign in assigns if type(assign) is ast.Assign and _divides(assign.value)
        for target in assign.targets if type(target) is ast.Name
    }
    if divided and any(getattr(key, "id", "") in divided for node in subscripts for key in _keys(node)):
        words.add("!quotient")


def divides(node: ast.Subscript) -> bool:
    """Whether it divides in the brackets."""
    return any(map(_divides, _keys(node)))


def _keys(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if type(node.slice) is ast.Tuple else [node.slice]


def _divides(node: ast.expr) -> bool:
    return type(node) is ast.BinOp and type(node.op) is ast.Div
