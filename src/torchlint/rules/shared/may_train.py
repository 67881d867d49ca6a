"""Whether a stretch of a program may go backward on some path, be it one that a run did not take: `if train: loss.backward()`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchlint.dryrun.source_text import Parsed
from torchlint.rules.mends.rows import text_of, tree_of


def may_train(parsed: Parsed, statement: ast.stmt) -> bool:
    """Whether a statement, or a function of its file that it may call, has a `backward`."""
    functions: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree_of(text_of(parsed))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.setdefault(node.name, []).append(node)
    todo: list[ast.AST] = [statement]
    known: set[str] = set()
    while todo:
        nodes = list(ast.walk(todo.pop()))
        if any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in nodes):
            return True
        called = set(_called(nodes)) - known
        known |= called
        todo += [function for name in called for function in functions.get(name, ())]
    return False


def _called(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The names of functions that are called, and of methods of the object itself."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.value.id in ("self", "cls"):
                yield node.func.attr
