"""How a loop over batches averages what it computes, as far as that can be read: `total += loss.item()`, `total / len(loader)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchsan.own import re
from torchsan.program.source import tree_of

_AS_IT_IS = ("item", "detach", "cpu", "tolist", "numpy")  # methods that leave a number what it is
_AROUND = ("enumerate", "tqdm", "trange", "track")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
_MEAN = r"(?:\w+\.)?f?mean\(\[?\s*(?:torch\.(?:stack|tensor|FloatTensor|Tensor)\(|np\.array\(|numpy\.array\()?\s*{0}\b"
_MEAN_METHOD = r"(?:stack|tensor|Tensor|array|asarray)\(\s*{0}\s*\)(?:\.\w+\(\))*\.mean\("


class Average(NamedTuple):
    """`row`: the line that adds a value; `added`: its text; `by`: what the sum is divided by, empty for the mean of a list."""

    row: int
    added: str
    by: str


def average_of(filename: str, loop: int, loss: int) -> Average | None:
    """How the loop in a line averages what a call in another line of it gives, each batch counting as much as the others.

    Args:
        loop: the row of the `for`.
        loss: the row where the value is computed, in the body of that loop.
    """
    tree = tree_of(filename)
    found = _loop(tree, loop) if tree is not None else None
    if found is None or not found[1].body[0].lineno <= loss <= (found[1].end_lineno or 0):
        return None
    scope, node = found
    text = ast.unparse(scope)
    for statement in _statements(node):
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            target = ast.unparse(statement.target)
            if _is_value(statement.value, node, loss) and (by := _divided(target, node, scope, text)):
                return Average(statement.lineno, ast.unparse(statement), by)
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append" and call.args:
            name = re.escape(ast.unparse(call.func.value))
            ways = (_MEAN.format(name), _MEAN_METHOD.format(name), rf"\bsum\({name}\) / len\({name}\)")
            if _is_value(call.args[0], node, loss) and any(re.search(way, text) for way in ways):
                return Average(statement.lineno, ast.unparse(statement), "")
    return None


def _loop(tree: ast.Module, row: int) -> tuple[ast.AST, ast.For] | None:
    """The innermost function around the loop that begins in a row, and the loop."""
    scopes = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    for scope in reversed(scopes):  # the inner ones come later
        for node in ast.walk(scope):
            if isinstance(node, ast.For) and node.lineno <= row <= (node.iter.end_lineno or row):
                return scope, node
    return None


def _statements(loop: ast.For) -> Iterator[ast.stmt]:
    for statement in loop.body:
        yield from (node for node in ast.walk(statement) if isinstance(node, ast.stmt))


def _is_value(added: ast.expr, loop: ast.For, row: int) -> bool:
    """Whether what is added is what the call in a row gave, as it is: `loss.item()`, `float(loss)`, the call itself."""
    while isinstance(added, ast.Call):
        if isinstance(added.func, ast.Attribute) and added.func.attr in _AS_IT_IS and not added.args:
            added = added.func.value
        elif isinstance(added.func, ast.Name) and added.func.id == "float" and len(added.args) == 1:
            added = added.args[0]
        else:
            return added.lineno <= row <= (added.end_lineno or row)
    if isinstance(added, ast.Attribute) and added.attr == "data":
        added = added.value
    if not isinstance(added, ast.Name):
        return False
    binds = [
        statement for statement in _statements(loop)
        if any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == added.id for node in ast.walk(statement))
        and not any(isinstance(inner, ast.stmt) and inner is not statement for inner in ast.walk(statement))
    ]
    if len(binds) != 1 or not isinstance(binds[0], ast.Assign) or not isinstance(binds[0].targets[0], ast.Name):
        return False
    value = binds[0].value
    return isinstance(value, ast.Call) and _is_value(value, loop, row)


def _divided(target: str, loop: ast.For, scope: ast.AST, text: str) -> str:
    """What the sum is divided by, where that is the number of batches: `len(loader)`, a name for it, or what is counted
    up by one."""
    over: ast.expr = loop.iter
    while isinstance(over, ast.Call) and over.args and ast.unparse(over.func).rsplit(".", 1)[-1] in _AROUND:
        over = over.args[0]
    counts = [f"len({ast.unparse(over)})"]
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == counts[0]:
            counts += [target.id for target in node.targets if isinstance(target, ast.Name)]
    for statement in _statements(loop):
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and ast.unparse(statement.value) == "1":
            counts.append(ast.unparse(statement.target))
    return next((by for by in counts if re.search(rf"\b{re.escape(target)} /=? {re.escape(by)}(?![\w.\[(])", text)), "")
