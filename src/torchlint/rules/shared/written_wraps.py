"""Whether a program of another file, which is read as it is written, loads a state into a model or into its wrapper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.rules.mends.rows import tree_of

_WRAPPERS = frozenset({"DataParallel", "DistributedDataParallel", "DDP"})
_NO_MODEL = re.compile(r"optim|sched|scaler", re.IGNORECASE)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def loads_before_it_wraps(text: str) -> bool:
    """Whether every state that a text loads goes into a bare model for certain: into one that the same body makes, and wraps only further
    down, outside of its loops."""
    try:
        tree = tree_of(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    found = [(body, *_loads_and_wraps(body)) for body in (tree, *(node for node in ast.walk(tree) if isinstance(node, _SCOPES)))]
    found = [(body, loads, wraps) for body, loads, wraps in found if loads or wraps]
    if len(found) != 1:
        return False
    body, loads, wraps = found[0]
    rows = [row for row in wraps if row is not None]
    if not loads or not rows or len(rows) < len(wraps):
        return False
    made = {name.id for name in _own(body) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    return all(isinstance(target, ast.Name) and target.id in made and target.lineno < min(rows) for target in loads)


def _loads_and_wraps(body: ast.AST) -> tuple[list[ast.expr], list[int | None]]:
    """What a body, without those inside of it, loads states of models into, and the rows in which it wraps; None for one in a loop."""
    looped = {id(node) for loop in _own(body) if isinstance(loop, _LOOPS) for node in ast.walk(loop)}
    loads: list[ast.expr] = []
    wraps: list[int | None] = []
    for node in _own(body):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _WRAPPERS:
            wraps.append(None if id(node) in looped else node.lineno)
        elif name == "load_state_dict" and isinstance(node.func, ast.Attribute) and not _NO_MODEL.search(ast.unparse(node.func.value)):
            loads.append(node.func.value)
    return loads, wraps


def _own(body: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a body, without those of functions and classes in it."""
    todo = list(ast.iter_child_nodes(body))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo.extend(ast.iter_child_nodes(node))
