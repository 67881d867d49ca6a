"""106: graphs of earlier steps are still alive, because something keeps the losses.

A token is put into the metadata of the loss's node and of those that it was made of (torch.autograd.graph.Node.
metadata, which lives as long as the node); weak references to the tokens count the graphs that are alive.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from typing import Any

from torchsan.check import Check
from torchsan.own import gc, linecache, torch, weakref
from torchsan.program.naming import find, scopes
from torchsan.program.referrers import keeper
from torchsan.program.source import growing_rows, grows, users_class
from torchsan.program.where import Where, here
from torchsan.stream.events import Event, rest

_ALIVE = 3  # graphs of earlier backward passes, more at each step: truncated BPTT keeps a bounded number, and in a GAN
# the variables of the loop hold the graphs of all the losses of one iteration
_FIRST, _EVERY = 32, 4  # backward passes that are marked: the first ones, then one in so many
_PARTS, _DOWN = 16, 4  # nodes of a loss that are marked, and how far below the sum: the outputs that it was made of
_DOUBTS = 3  # times that the rubbish is swept for a suspicion
_KEY = "torchsan.kept"
_SUMS = ("Add", "Sub", "Neg", "Div", "Mul", "View", "Stack", "Cat", "Sum", "Mean", "Unsqueeze", "Squeeze")


class _Token:
    __slots__ = ("__weakref__",)


class KeptGraphs(Check):
    """Something keeps the autograd graph of every iteration alive."""

    numbers = (106,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.tokens: list[weakref.ref] = []
        self.history: list[int] = []  # how many were alive, once in each step
        self.looked = -1  # the step of the last look
        self.backwards = 0
        self.doubts = 0
        self.said = False
        self.keeper: str | None = None  # what keeps them by the collector's word, once somebody asked

    def on_backward(self, event: Event) -> None:
        self.backwards += 1
        if self.backwards > _FIRST and self.backwards % _EVERY and not (self.thorough or rest.hears_few):
            return
        node = getattr(event.subject, "grad_fn", None)
        if node is None or event.retain_graph or event.create_graph:
            return
        self.tokens = [token for token in self.tokens if token() is not None]
        step = self.ledger.step if any(True for _ in self.ledger) else self.backwards
        if step != self.looked:
            self.looked = step
            self.history = [*self.history[-_ALIVE:], len(self.tokens)]
            grows = all(b > a for a, b in zip(self.history, self.history[1:]))
            if grows and len(self.history) > _ALIVE and len(self.tokens) >= _ALIVE:
                if self.said or self._swept():
                    self._say(event)
        token = _Token()
        for part in _parts(node):
            part.metadata.setdefault(_KEY, token)
        self.tokens.append(weakref.ref(token))

    def _swept(self) -> bool:
        """Whether the graphs are kept still, with the cycles swept that Python had not come to yet."""
        if self.doubts >= _DOUBTS:
            return False
        self.doubts += 1
        gc.collect()
        alive = [token for token in self.tokens if token() is not None]
        self.said = len(alive) == len(self.tokens)
        self.tokens = alive
        if not self.said:
            self.history = []
        return self.said

    def _say(self, event: Event) -> None:
        current = event.subject
        name, line = _holder(lambda value: _keeps(value, current))
        if name is None:  # a framework runs the model: no variable of the user's need have it
            name, line = _attribute(self.watch.modules(), lambda value: _keeps(value, current))
        if name is None or self.watch.options.level == "memory":
            if self.keeper is None:
                self.keeper = _keeper(current, [token() for token in self.tokens]) or ""
            name = name or self.keeper
        details = {"graphs": len(self.tokens), **({"kept by": self.keeper} if self.keeper else {})}
        self.found(
            106,
            line or event,
            key="kept",
            name=name or "something",
            loss="loss",
            fact=f"{len(self.tokens)} graphs of earlier steps are alive",
            related=((event, "the backward pass whose graph is kept"),),
            details=details,
        )


def _parts(root: Any) -> Iterator[Any]:
    """A loss's node, the nodes that it was added up from, and the next ones below these."""
    todo, seen = [(root, _DOWN)], set()
    while todo and len(seen) < _PARTS:
        node, left = todo.pop(0)
        if node is None or node in seen or node.name().startswith("torch::autograd::AccumulateGrad"):
            continue
        seen.add(node)
        yield node
        if node.name().startswith(_SUMS):
            todo.extend((following, left) for following, _ in node.next_functions)
        elif left and node.next_functions:
            todo.append((node.next_functions[0][0], left - 1))


def _keeper(current: torch.Tensor, tokens: list) -> str | None:
    """What keeps a tensor of an earlier step, found from the tensor on: where no running function has a name for it."""
    marks = {id(token) for token in tokens}
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing is not current and thing.grad_fn is not None:
            if any(id(node.metadata.get(_KEY)) in marks for node in _parts(thing.grad_fn)) and (name := keeper(thing)):
                return name
    return None


def _holder(matches: Callable[[Any], bool]) -> tuple[str | None, Where | None]:
    """What keeps the graphs: a variable, or an attribute of an object that a variable holds; and for the latter the
    line of its class that adds to it."""
    name = find(matches)
    if name is not None:
        return name, _line_that_grows(name)
    for names in scopes(sys._getframe(1)):
        for variable, owner in list(names.items()):
            space = getattr(owner, "__dict__", None)
            if not isinstance(space, dict) or variable.startswith("_") or isinstance(owner, type):
                continue
            if users_class(owner) is not None:
                for attribute, value in list(space.items()):
                    if matches(value):
                        return f"{variable}.{attribute}", grows(owner, attribute)
    return None, None


def _attribute(modules: list[torch.nn.Module], matches: Callable[[Any], bool]) -> tuple[str | None, Where | None]:
    """The attribute of a model of the user's that keeps the graphs, and the line of its class that adds to it."""
    for module in modules:
        for attribute, value in list(vars(module).items()) if users_class(module) is not None else ():
            if not attribute.startswith("_") and matches(value):
                return f"{type(module).__name__}.{attribute}", grows(module, attribute)
    return None, None


def _keeps(value: Any, current: torch.Tensor, depth: int = 1) -> bool:
    """Whether a variable's value holds several graphs: a sum of losses, or a list of them."""
    if isinstance(value, torch.Tensor):
        return value is not current and value.grad_fn is not None and _length(value.grad_fn) >= _ALIVE - 1
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and value:
        kept = [item for item in value[-_ALIVE:] if isinstance(item, torch.Tensor) and item.grad_fn is not None]
        if len(kept) >= _ALIVE - 1:
            return _tokens(kept) >= _ALIVE - 1
        return bool(depth) and any(_keeps(item, current, depth - 1) for item in value[:64])
    return False


def _tokens(kept: list[torch.Tensor]) -> int:
    """Of how many graphs some tensors are parts; a tensor beside the losses is a graph of its own."""
    marks = [next((n.metadata[_KEY] for n in _parts(t.grad_fn) if _KEY in n.metadata), t.grad_fn) for t in kept]
    return len({id(mark) for mark in marks})


def _length(node: Any) -> int:
    """How many marked losses a chain of additions holds, as far as a few dozen nodes tell."""
    tokens, todo, seen = set(), [node], set()
    while todo and len(seen) < 64:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        if _KEY in at.metadata:
            tokens.add(id(at.metadata[_KEY]))
        elif at.name().startswith(_SUMS):
            todo.extend(following for following, _ in at.next_functions if following is not None)
    return len(tokens)


def _line_that_grows(name: str) -> Where | None:
    """The line of the running function that adds to `name`, or for an attribute, that of the class."""
    place = here()
    if place is None:
        return None
    try:
        lines = linecache.getlines(place.code.co_filename)
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, OSError):
        return None
    wanted = name.split("[")[0]
    first = place.code.co_firstlineno
    rows = [row for row in growing_rows(tree, wanted) if row >= first]
    near = min(rows, key=lambda row: abs(row - place.line), default=None)
    if near is not None:
        return Where(place.code, -1, near)
    attribute = wanted.removeprefix("self.")
    owners = (names.get("self") for names in scopes(sys._getframe(1))) if attribute != wanted else ()
    found = (grows(owner, attribute) for owner in owners if attribute in getattr(owner, "__dict__", ()))
    return next((line for line in found if line is not None), None)


CHECKS = (KeptGraphs,)
