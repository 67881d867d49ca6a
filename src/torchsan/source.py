"""Looking things up in the source of a class: where an attribute is assigned, which methods read it."""

from __future__ import annotations

import ast
import inspect
from functools import lru_cache
from typing import Any

from torchsan.where import Where, kind_of


_MOVES = frozenset(("to", "cuda", "cpu", "type_as", "shape", "size", "dtype", "device", "numel", "item"))


@lru_cache(maxsize=256)
def _tree(cls: type) -> tuple[ast.ClassDef, int, Any] | None:
    """The class's syntax tree, the row before its first, and code of one of its methods (for the file's name)."""
    try:
        lines, first = inspect.getsourcelines(cls)
        init = next(f for f in vars(cls).values() if inspect.isfunction(f))
        tree = ast.parse(inspect.cleandoc("\n" + "".join(lines)) if lines[0][:1].isspace() else "".join(lines))
        body = tree.body[0]
        return (body, first - 1, init.__code__) if isinstance(body, ast.ClassDef) else None
    except (OSError, TypeError, SyntaxError, StopIteration, IndexError):
        return None


def users_class(thing: Any) -> type | None:
    """The first class of an object's that the user wrote."""
    for cls in type(thing).__mro__:
        functions = [f for f in vars(cls).values() if inspect.isfunction(f)]
        if functions and kind_of(functions[0].__code__.co_filename) == 0:
            return cls
    return None


def assigned(thing: Any, name: str) -> Where | None:
    """The line of `self.<name> = ...` in the classes of `thing`, the most derived first."""
    for cls in type(thing).__mro__:
        known = _tree(cls)
        if known is None:
            continue
        body, offset, code = known
        for node in ast.walk(body):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and any(_is_self(target, name) for target in targets):
                return Where(code, -1, node.lineno + offset)
    return None


def methods_that_use(thing: Any, name: str) -> dict[str, set[str]]:
    """By method of the user's classes: "reads" and "writes" of `self.<name>` in it."""
    found: dict[str, set[str]] = {}
    for cls in type(thing).__mro__:
        known = _tree(cls)
        if known is None:
            continue
        for function in known[0].body:
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for node in ast.walk(function):
                    if _is_self(node, name):
                        how = "reads" if isinstance(node.ctx, ast.Load) else "writes"
                        found.setdefault(function.name, set()).add(how)
    return found


def follows_device(thing: Any, name: str) -> bool:
    """Whether every read of `self.<name>` in the user's classes moves it (`self.name.to(...)`) or reads a plain
    property of it, so that it need not be a buffer."""
    reads = moved = 0
    for cls in type(thing).__mro__:
        known = _tree(cls)
        if known is None:
            continue
        for node in ast.walk(known[0]):
            if _is_self(node, name) and isinstance(node.ctx, ast.Load):
                reads += 1
            if isinstance(node, ast.Attribute) and _is_self(node.value, name):
                moved += node.attr in _MOVES
    return reads > 0 and moved >= reads


def _is_self(node: Any, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )
