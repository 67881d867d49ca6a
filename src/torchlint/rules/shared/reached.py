"""Whether a place is reached at all, as far as rules about sizes may say."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event

# Conditions on what is given: which branch is taken may depend on its size.
_ASKS = re.compile(r"\b(?:isinstance|n?dim|size|shape|len|rank|type|numel|hasattr)\b|[=!<>]=|[<>]")
# A name that is asked for, `if args.loss == "bce"`: which branch is taken has nothing to do with sizes.
_NAMED = re.compile(r"""[=!]=\s*(['"])[\w ./+-]*\1""")
_FIRST = re.compile(r"\w[\w.]*(?:\.size\(\s*0\s*\)|\.shape\[\s*0\s*\])")
_SIZES = frozenset({"ndim", "dim", "size", "shape", "len", "numel"})
_MAIN = re.compile(r"__name__")


def may_be_dead(event: Event) -> bool:
    """Whether a condition on sizes or numbers stands around it, or before it sends others away: those are not decided here."""
    if any(_ASKS.search(_NAMED.sub("", text)) and not _MAIN.search(text) for text in (guard.text() for guard, _ in event.guards)):
        return True
    return event.site is not None and _asked_before(event.site)


def _asked_before(site: Site) -> bool:
    """Whether an earlier statement asks for the sizes of something that a place works on, and raises or leaves."""
    if not _SIZES & site.parsed.unit.words:
        return False
    used = {node.value for node in walk(site.node) if type(node) is cst.Name}
    inner: cst.CSTNode = site.node
    for node in site.parsed.around(site.node):
        body = getattr(node, "body", ())
        if isinstance(body, (list, tuple)):
            for statement in body:
                if statement is inner:
                    break
                test = _leaves(statement)
                if test is not None and used & {n.value for n in walk(test) if type(n) is cst.Name} and _of_sizes(test):
                    if not _of_counts(site, test):
                        return True
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            return False
        inner = node
    return False


def _leaves(statement: cst.CSTNode) -> cst.BaseExpression | None:
    """The condition by which a statement ends the function or the turn of the loop; None where it does not."""
    if isinstance(statement, cst.SimpleStatementLine):
        asserts = [small.test for small in statement.body if isinstance(small, cst.Assert)]
        return asserts[0] if asserts else None
    if not isinstance(statement, cst.If):
        return None
    last = statement.body.body[-1] if statement.body.body else None
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return statement.test if isinstance(small, (cst.Raise, cst.Return, cst.Continue, cst.Break)) else None


def _of_sizes(test: cst.BaseExpression) -> bool:
    return any(
        isinstance(node, cst.Attribute) and node.attr.value in _SIZES or isinstance(node, cst.Name) and node.value == "len"
        for node in walk(test)
    )


def _of_counts(site: Site, test: cst.BaseExpression) -> bool:
    """Whether a condition only compares how many samples two batches have, `a.size(0) != b.size(0)`: not how many dimensions, nor
    the sizes of the others."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.comparisons[0].operator, cst.NotEqual):
        return False
    sides = (test.left, test.comparisons[0].comparator)
    return all(_FIRST.fullmatch(site.parsed.text(side)) for side in sides)
