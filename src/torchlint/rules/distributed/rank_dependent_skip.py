"""822: one process leaves out a backward that the others make."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View, once
from torchlint.rules.mends.rows import tree_of
from torchlint.rules.shared.agreed import agreed_upon
from torchlint.rules.shared.data_tests import asks_data
from torchlint.rules.shared.processes import INIT, of_one_process

CODE = 822
CALLS = frozenset({INIT})
_WRAPS = ("DistributedDataParallel", "FullyShardedDataParallel")


def check(view: View) -> Iterator[Report]:
    """`continue` between the forward of a wrapped model and its backward, under a test of the batch or of its loss."""
    wraps = [event for event in view.of("wrap") if event.subject is not None and event.subject.type.endswith(_WRAPS)]
    if wraps and not of_one_process(view):
        yield from once(_found(view, wraps))


def _found(view: View, wraps: list[Event]) -> Iterator[Report]:
    for backward in view.of("backward"):
        if not backward.loops or backward.site is None:
            continue
        for forward in backward.flows:
            if forward.kind != "forward" or forward.site is None or forward.site.parsed is not backward.site.parsed:
                continue
            if forward.get("inside") or not any(view.related_modules(event.subject, forward.subject) for event in wraps):
                continue
            first, last = forward.site.location().row, backward.site.location().row
            for leave, test in _between(backward.site.parsed, first, last):
                yield _report(view, backward, forward, leave, test)


def _report(view: View, backward: Event, forward: Event, leave: ast.stmt, test: str) -> Report:
    word = {ast.Continue: "continue", ast.Return: "return", ast.Break: "break"}[type(leave)]
    roles = {"leave": word, "test": test if len(test) <= 60 else test[:57] + "...", "call": view.call_text(backward.site)}
    return Report(CODE, backward.site, roles, [
        (forward.site, "the forward of the wrapped model"), (backward.loops[-1].site or backward.site, "each process has its own batch here"),
    ])


def _between(parsed: Parsed, first: int, last: int) -> Iterator[tuple[ast.stmt, str]]:
    """The statements that leave a turn between two rows, and the test that they stand under."""
    if not any("if" in line for line in parsed.facts.lines[first : last - 1]):
        return
    for node in _rows(parsed, first, last):
        if not isinstance(node, ast.If) or not (first < node.lineno < last) or node.orelse and last <= (node.end_lineno or last):
            continue
        text = ast.unparse(node.test)
        leaves = [item for item in node.body if isinstance(item, (ast.Continue, ast.Return))]
        if leaves and asks_data(text) and not agreed_upon(parsed, first, node):
            yield leaves[0], text


def _rows(parsed: Parsed, first: int, last: int) -> list[ast.stmt]:
    """The statements of the block in which both rows stand, however deep."""
    try:
        tree = tree_of("".join(parsed.facts.lines))
    except (SyntaxError, ValueError, RecursionError):
        return []
    best: list[ast.stmt] = []
    todo: deque[ast.AST] = deque([tree])
    while todo:
        node = todo.popleft()
        if isinstance(node, ast.stmt) and not (node.lineno <= min(first, last) and max(first, last) <= (node.end_lineno or last)):
            continue
        todo.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if not isinstance(block, list) or not block or not isinstance(block[0], ast.stmt):
                continue
            spans = any(item.lineno <= first <= (item.end_lineno or item.lineno) for item in block)
            if spans and any(item.lineno <= last <= (item.end_lineno or item.lineno) for item in block):
                best = block if not best or block[0].lineno >= best[0].lineno else best
    return best
