"""106: graphs of earlier steps are still alive, because something keeps the losses.

A token is put into the metadata of the loss's node (torch.autograd.graph.Node.metadata, which lives as long as the
node); weak references to the tokens count the graphs that are alive.
"""

from __future__ import annotations

import ast
import linecache
import weakref
from typing import Any

import torch

from torchsan.check import Check
from torchsan.events import Event
from torchsan.naming import find
from torchsan.where import Where, here

_ALIVE = 4  # graphs of earlier backward passes, one more at each of them: truncated BPTT keeps fewer, and no more
_FIRST, _EVERY = 32, 4  # backward passes that are marked: the first ones, then one in so many
_KEY = "torchsan.kept"


class _Token:
    __slots__ = ("__weakref__",)


class KeptGraphs(Check):
    """Something keeps the autograd graph of every iteration alive."""

    numbers = (106,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.tokens: list[weakref.ref] = []
        self.history: list[int] = []
        self.backwards = 0

    def on_backward(self, event: Event) -> None:
        self.backwards += 1
        if self.backwards > _FIRST and self.backwards % _EVERY:
            return
        node = getattr(event.subject, "grad_fn", None)
        if node is None or event.retain_graph or event.create_graph:
            return
        self.tokens = [token for token in self.tokens if token() is not None]
        self.history = [*self.history[-_ALIVE:], len(self.tokens)]
        if len(self.tokens) >= _ALIVE and all(b > a for a, b in zip(self.history, self.history[1:])):
            self._say(event)
        if _KEY not in node.metadata:
            token = _Token()
            node.metadata[_KEY] = token
            self.tokens.append(weakref.ref(token))

    def _say(self, event: Event) -> None:
        current = event.subject
        name = find(lambda value: _keeps(value, current))
        self.found(
            106,
            _line_that_grows(name, event) or event,
            key="kept",
            name=name or "something",
            loss="loss",
            fact=f"{len(self.tokens)} graphs of earlier steps are alive",
            related=((event, "the backward pass whose graph is kept"),),
            details={"graphs": len(self.tokens)},
        )


def _keeps(value: Any, current: torch.Tensor) -> bool:
    """Whether a variable's value holds several graphs: a sum of losses, or a list of them."""
    if isinstance(value, torch.Tensor):
        return value is not current and value.grad_fn is not None and _length(value.grad_fn) >= _ALIVE - 1
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and value:
        kept = sum(isinstance(item, torch.Tensor) and item.grad_fn is not None for item in value[-_ALIVE:])
        return kept >= _ALIVE - 1
    return False


def _length(node: Any) -> int:
    """How many marked losses a chain of additions holds, as far as a few dozen nodes tell."""
    count, todo, seen = 0, [node], set()
    while todo and len(seen) < 64:
        at = todo.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        if _KEY in at.metadata:
            count += 1
        elif at.name().startswith(("Add", "Div", "Mul", "View", "Stack", "Cat")):
            todo.extend(following for following, _ in at.next_functions if following is not None)
    return count


def _line_that_grows(name: str | None, event: Event) -> Where | None:
    """The line of the running function that adds to `name`: `name += ...`, `name = name + ...`, `name.append(...)`."""
    place = here()
    if name is None or place is None:
        return None
    try:
        lines = linecache.getlines(place.code.co_filename)
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, OSError):
        return None
    wanted = name.split("[")[0]
    first = place.code.co_firstlineno
    rows = [row for row in _growing_rows(tree, wanted) if row >= first]
    near = min(rows, key=lambda row: abs(row - place.line), default=None)
    return None if near is None else Where(place.code, -1, near)


def _growing_rows(tree: ast.AST, wanted: str) -> list[int]:
    rows = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target).split("[")[0] == wanted:
            rows.append(node.lineno)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
            if ast.unparse(node.targets[0]) == wanted and wanted in {ast.unparse(n) for n in ast.walk(node.value.left)}:
                rows.append(node.lineno)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("append", "add") and ast.unparse(node.func.value).split("[")[0] == wanted:
                rows.append(node.lineno)
    return rows


CHECKS = (KeptGraphs,)
