"""Data that a training loop cuts into batches by slices, `x[i : i + batch_size]`, in the order in which they lie."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Loop

# Words of what mixes the data, draws from them, or goes through them in an order that means something.
_NOT_IN_ORDER = re.compile(
    r"perm|shuf|sampl|choice|rand|mix|roll|sort|series|seq|window|video|frame|stream|bptt|stock|chunk|replay|memory|buffer|hidden|token|traject|indices",
    re.IGNORECASE,
)


def slices_of(step: Event) -> tuple[Loop, str] | None:
    """The loop around a step that cuts data into slices, once in each turn of another loop, and what it cuts; None where there is
    none, or something may change their order."""
    for depth, loop in enumerate(step.loops):
        outer = next((other for other in reversed(step.loops[:depth]) if not other.once), None)
        cut = _cut(loop) if outer is not None and outer.site is not None else None
        if cut is None:
            continue
        within = _without_comments(_lines(outer)) + _without_comments(_around(loop, outer))
        assigned = re.search(rf"(?<![\w.]){re.escape(cut)}\s*(?:,[^=\n]*)?=[^=]", within)
        return None if assigned or _NOT_IN_ORDER.search(within) else (loop, cut)
    return None


def _cut(loop: Loop) -> str | None:
    """The name of what a loop over a range slices by its number: `x` of `x[i : i + 32]`, `x[i * 32 : (i + 1) * 32]`."""
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For) or not isinstance(node.target, cst.Name) or "range(" not in loop.site.parsed.text(node.iter):
        return None
    number = node.target.value
    for found in walk(node.body):
        if not isinstance(found, cst.Subscript) or not isinstance(found.value, cst.Name | cst.Attribute) or not found.slice:
            continue
        cut = found.slice[0].slice
        if isinstance(cut, cst.Slice) and cut.step is None and cut.lower is not None and cut.upper is not None and _times(cut.lower, number):
            if number in {name.value for name in walk(cut.upper) if isinstance(name, cst.Name)}:
                return loop.site.parsed.text(found.value)
    return None


def _times(node: cst.CSTNode, number: str) -> bool:
    """Whether an expression is a loop's number, or that times something."""
    sides = (node.left, node.right) if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply) else (node,)
    return any(isinstance(side, cst.Name) and side.value == number for side in sides)


def _lines(loop: Loop) -> str:
    return loop.site.parsed.text(loop.site.node)


def _around(loop: Loop, outer: Loop) -> str:
    """The function that a loop stands in, where the loop around it is in another one."""
    facts, row = loop.site.parsed.facts, loop.site.location().row
    unit = next((unit for unit in facts.functions.values() if unit.start <= row <= unit.end), None)
    if unit is None or outer.site.parsed.facts is facts and unit.start <= outer.site.location().row <= unit.end:
        return ""
    return "".join(facts.lines[unit.start - 1 : unit.end])


def _without_comments(text: str) -> str:
    return "\n".join(line.split("#", 1)[0] for line in text.split("\n"))
