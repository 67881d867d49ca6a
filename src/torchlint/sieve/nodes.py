"""Small questions to a node of Python's own tree: where it starts, what it is called, what it binds."""

from __future__ import annotations

import ast
import builtins

BUILTINS = frozenset(dir(builtins))


def first_row(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", None)
    return min([node.lineno, *(d.lineno for d in decorators)]) if decorators else node.lineno


def dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Call):
        return dotted(node.func) + "()" + "".join("." + part for part in reversed(parts))
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


def last_name(func: ast.expr) -> str:
    """The last part of the name of what is called."""
    return getattr(func, "attr", None) or getattr(func, "id", "")


def of_self(node: ast.expr) -> bool:
    """Whether a node is `self.x`."""
    return type(node) is ast.Attribute and getattr(node.value, "id", "") == "self"


def bindings(assigns: list[ast.Assign | ast.AnnAssign | ast.For]) -> list[tuple[ast.expr, ast.expr]]:
    """Targets and what each of them is given; of a loop, what it goes over."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for node in assigns:
        value = node.iter if type(node) is ast.For else node.value
        for target in node.targets if type(node) is ast.Assign else [node.target]:
            if value is not None:
                found.append((target, value))
    return found
