"""Conditions that the processes have agreed upon: what they exchanged is in what is asked for."""

from __future__ import annotations

import ast

from torchlint.dryrun.source_text import Parsed
from torchlint.rules.mends.rows import tree_of
from torchlint.rules.shared.data_tests import AGREED


def agreed_upon(parsed: Parsed, first: int, test: ast.If) -> bool:
    """Whether what a condition asks for comes of something that the processes exchange from a row on: what such a call gives,
    and what it is given. A call that stands elsewhere than in a statement of its own, or in an assignment, may be what agrees."""
    lines = parsed.facts.lines
    last = test.body[0].end_lineno or test.lineno
    if not AGREED.search("".join(lines[first - 1 : last])):
        return False
    if AGREED.search("".join(lines[test.lineno - 1 : last])):
        return True
    tree = tree_of("".join(lines))
    between = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and first <= node.lineno < test.lineno]
    shared: set[str] = set()
    for node in sorted(between, key=lambda one: one.lineno):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            shared |= _made_alike(node, shared)
        elif AGREED.search(_header(node, lines)):
            return True
    return not (shared - _imported(tree)).isdisjoint(_names(test.test))


def _made_alike(node: ast.stmt, shared: set[str]) -> set[str]:
    """The names that stand for something that all processes have alike behind a statement, because it exchanges, or takes, such."""
    names = _names(node)
    if AGREED.search(ast.unparse(node)):
        return names
    return set() if shared.isdisjoint(names) else _bound(node)


def _names(node: ast.AST) -> set[str]:
    return {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}


def _bound(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {name for target in targets if target is not None for name in _names(target)}


def _header(node: ast.stmt, lines: list[str]) -> str:
    """The rows of a statement in front of its block."""
    block = getattr(node, "body", None)
    last = max(block[0].lineno - 1, node.lineno) if block else node.end_lineno or node.lineno
    return "".join(lines[node.lineno - 1 : last])


def _imported(tree: ast.Module) -> set[str]:
    """The names of what a file imports, which nothing makes alike."""
    imports = (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
    return {(alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names}
