"""What stands around a place in the source, and which names a stretch of it binds."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk


def bound(node: cst.CSTNode) -> set[str]:
    """The names that a stretch of source binds, in whatever way: assignments, loops, `with ... as`, imports."""
    found: set[str] = set()
    for item in walk(node):
        target = None
        if isinstance(item, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)):
            target = item.target
        elif isinstance(item, cst.AsName):
            target = item.name
        elif isinstance(item, cst.FunctionDef):
            target = item.name
        if target is not None:
            found |= set(_names(target))
    return found


def _names(target: cst.CSTNode) -> Iterator[str]:
    """The names that a target binds: not those of `x` in x.attribute and x[0]."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _names(element.value)
    elif isinstance(target, cst.StarredElement):
        yield from _names(target.value)


def read(node: cst.CSTNode) -> set[str]:
    """The names that occur in a stretch of source."""
    return {item.value for item in walk(node) if isinstance(item, cst.Name)}
