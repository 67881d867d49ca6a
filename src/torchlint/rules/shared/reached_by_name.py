"""Attributes of an object that its class asks for by names that it puts together: `getattr(self, f"layer{i}")`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.values import Class
from torchlint.rules.mends.rows import tree_of

ASKS = frozenset({"getattr", "setattr"})


def names_asked(cls: Class) -> list[re.Pattern[str]] | None:
    """What the names may be that the methods of a class ask `self` for; None where they may be any. What other objects are asked
    for, `getattr(models, name)`, is of no matter where the file imports these."""
    found: list[re.Pattern[str]] = []
    for call in _calls(cls):
        owner, name = (*call.args[:2], None, None)[:2]
        if isinstance(owner, ast.Name) and owner.id in cls.facts.imports:
            continue
        text = _pattern(name) if isinstance(owner, ast.Name) and owner.id == "self" and name is not None else None
        if text is None:
            return None
        found.append(re.compile(text))
    return found


def _calls(cls: Class) -> Iterator[ast.Call]:
    rows = [range(unit.start, unit.end + 1) for unit in cls.cf.methods.values() if unit.words & ASKS]
    calls = (node for node in ast.walk(tree_of("".join(cls.facts.lines))) if isinstance(node, ast.Call)) if rows else ()
    for call in calls:
        if isinstance(call.func, ast.Name) and call.func.id in ASKS and any(call.lineno in each for each in rows):
            yield call


def _pattern(node: ast.expr) -> str | None:
    """What a text looks like that is put together of what is written and what is not known."""
    if isinstance(node, ast.Constant):
        return re.escape(node.value) if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(_pattern(part) or r"\w*" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = _pattern(node.left), _pattern(node.right)
        return None if parts == (None, None) else "".join(part or r"\w*" for part in parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _filled(node.left, r"%[\w.]*[a-z]")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _filled(node.func.value, r"\{[^{}]*\}")
    return None


def _filled(node: ast.expr, hole: str) -> str | None:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    return r"\w*".join(re.escape(part) for part in re.split(hole, node.value))
