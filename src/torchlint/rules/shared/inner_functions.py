"""Calls in functions within functions that no run comes to: they are handed on, kept, or called by nobody."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.rules.base import View
from torchlint.rules.shared.written_names import qualified


def calls_within(view: View, words: frozenset[str]) -> Iterator[tuple[Site, str]]:
    """Such calls of what is called by one of some words, with the qualified names that the file uses."""
    for tree in view.trees():
        functions = [] if words.isdisjoint(tree.unit.words) else list(_inner(tree))
        rows = _rows_come_to(view, tree) if functions else set()
        for function in functions:
            first, last = _span(tree, function)
            if any(first < row <= last for row in rows):
                continue  # a run comes to it
            for node in walk(function.body):
                if not isinstance(node, cst.Call) or _last(node.func) not in words or _under_condition(tree, node, function):
                    continue
                if name := qualified(Site(tree, node), node.func):
                    yield Site(tree, node), name


def _rows_come_to(view: View, tree: Parsed) -> set[int]:
    """Where in a file something happens. Asked where it is needed alone: who has looked at the rows of a file is judged anew when they move."""
    sites = (event.site for event in view.run.graph.events if event.site is not None and event.site.parsed.facts is tree.facts)
    return {site.location().row for site in sites}


def _inner(tree: Parsed) -> Iterator[cst.FunctionDef]:
    """The functions in a function, or under an `if` of a file; not the methods of classes, which are run by themselves."""
    of_body = any(item is tree.unit for item in tree.facts.body)
    for node in walk(tree.module):
        if isinstance(node, cst.FunctionDef):
            around = list(tree.around(node))
            inside = any(isinstance(item, (cst.FunctionDef, cst.If) if of_body else cst.FunctionDef) for item in around)
            if inside and not any(isinstance(item, cst.ClassDef) for item in around):
                yield node


def _under_condition(tree: Parsed, node: cst.CSTNode, function: cst.FunctionDef) -> bool:
    """Whether a function asks something first, which may be for the release: no run tells what the answer is."""
    for item in tree.around(node):
        if item is function:
            return False
        if isinstance(item, (cst.If, cst.IfExp, cst.Try)):
            return True
    return False


def _span(tree: Parsed, function: cst.FunctionDef) -> tuple[int, int]:
    at = Site(tree, function).location()
    return at.row, at.end_row or at.row


def _last(func: cst.BaseExpression) -> str:
    if isinstance(func, cst.Attribute):
        return func.attr.value
    return func.value if isinstance(func, cst.Name) else ""
