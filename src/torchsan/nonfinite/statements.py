"""What statements bind, write to and read, by their text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchsan.nonfinite.purity import writes

FILLS = ("append", "extend", "insert")  # methods that put something into a list


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block
    for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield handler.body


def stores(statement: ast.stmt) -> set[str]:
    """Names that a statement binds or whose values it writes to."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {statement.name}
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            base = node.value
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name):
                found.add(base.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (
            writes(node.func.attr) or node.func.attr in FILLS
        ):
            base = node.func.value
            if isinstance(base, ast.Name):
                found.add(base.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return found


def loads(node: ast.AST) -> set[str]:
    """Names that a statement or expression reads from what was there before it."""
    if isinstance(node, (ast.With, ast.If, ast.For)):
        head = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
        head += [node.test] if isinstance(node, ast.If) else [node.iter] if isinstance(node, ast.For) else []
        given = stores(node.target) if isinstance(node, ast.For) else set()
        found = set().union(*map(loads, head))
        for block in blocks(node):
            bound = set(given)
            for statement in block:
                found |= loads(statement) - bound
                if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.With)):
                    bound |= {name for name in stores(statement) if _binds(statement, name)}
        return found
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    return found - {
        n.id
        for part in ast.walk(node)
        if isinstance(part, ast.comprehension)
        for n in ast.walk(part.target)
        if isinstance(n, ast.Name)
    }


def _binds(statement: ast.stmt, name: str) -> bool:
    """Whether a statement binds a name whatever happens."""
    if isinstance(statement, ast.With):
        return any(_binds(inner, name) for inner in statement.body)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    plain = isinstance(statement, (ast.Assign, ast.AnnAssign))
    return plain and any(name in _names(target) for target in targets)


def _names(target: ast.AST | None) -> set[str]:
    """The names that an assignment to `target` binds."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return set().union(*map(_names, target.elts))
    if isinstance(target, ast.Starred):
        return _names(target.value)
    return {target.id} if isinstance(target, ast.Name) else set()
