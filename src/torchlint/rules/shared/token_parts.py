"""Which tokens of which batch an expression is: `ids[:, 1:].contiguous()` is all but the first of `ids`."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk

_SAME_PLACES = frozenset("contiguous to cuda clone detach long".split())
_MOST = 6  # names and methods that lead from one to the next


class Part(NamedTuple):
    """What of a batch of tokens an expression is: which tokens, as they are written, and which of each row."""

    tokens: str
    which: str
    node: cst.CSTNode


def part_of(parsed: Parsed, node: cst.BaseExpression | None) -> Part | None:
    """What of a batch an expression is, by way of names that are set once."""
    for _ in range(_MOST):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            last = node.func.attr.value
            if last == "roll":
                return _rolled(parsed, node)
            if last not in _SAME_PLACES:
                return None
            node = node.func.value
        elif isinstance(node, cst.Name):
            set_to = _set_once(parsed, node.value)
            if set_to is None or isinstance(set_to, cst.Subscript) and _which(set_to) is None or isinstance(set_to, cst.Call) and part_of(parsed, set_to) is None:
                return Part(node.value, "all", node)
            node = set_to
        elif isinstance(node, cst.Subscript):
            which = _which(node)
            return Part(parsed.text(node.value), which, node) if which is not None else Part(parsed.text(node), "all", node)
        else:
            return None
    return None


def _set_once(parsed: Parsed, name: str) -> cst.BaseExpression | None:
    """What a name is set to, where that is done in one place."""
    found = []
    for node in walk(parsed.module):
        if isinstance(node, (cst.AssignTarget, cst.For, cst.AugAssign, cst.AnnAssign, cst.NamedExpr, cst.Param)):
            target = getattr(node, "target", getattr(node, "name", None))
            if any(isinstance(item, cst.Name) and item.value == name for item in walk(target)) and not isinstance(target, (cst.Subscript, cst.Attribute)):
                found.append(node)
    if len(found) != 1 or not isinstance(found[0], cst.AssignTarget) or not isinstance(found[0].target, cst.Name):
        return None
    return next((node.value for node in walk(parsed.module) if isinstance(node, cst.Assign) and found[0] in node.targets), None)


def _which(node: cst.Subscript) -> str | None:
    """Which tokens of each row `ids[:, 1:]` or `ids[..., :-1]` takes; None where it is another thing."""
    kinds = [item.slice for item in node.slice]
    if len(kinds) != 2 or not isinstance(kinds[1], cst.Slice) or kinds[1].step is not None or not _all(kinds[0]):
        return None
    low, high = kinds[1].lower, kinds[1].upper
    if high is None and _number(low) == 1:
        return "ahead"
    return "but the last" if low is None and _number(high) == -1 else None


def _all(kind: cst.BaseSlice) -> bool:
    """Whether `:` or `...` stands for the rows."""
    if isinstance(kind, cst.Slice):
        return kind.lower is None and kind.upper is None
    return isinstance(kind.value, cst.Ellipsis)


def _number(node: cst.BaseExpression | None) -> int | None:
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = _number(node.expression)
        return None if inner is None else -inner
    return int(node.value) if isinstance(node, cst.Integer) and node.value.isdecimal() else None


def _rolled(parsed: Parsed, node: cst.Call) -> Part | None:
    """`ids.roll(-1, dims=1)` or `torch.roll(ids, -1, 1)`."""
    owner = node.func.value
    if parsed.text(owner) == "torch":
        if not node.args:
            return None
        owner, rest = node.args[0].value, node.args[1:]
    else:
        rest = node.args
    if not rest or _number(rest[0].value) != -1:
        return None
    return Part(parsed.text(owner), "rolled", node)
