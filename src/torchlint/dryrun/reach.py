"""What is reached from each node of a graph, in time linear to its size, whatever leads to whatever."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Reach(Generic[Node]):
    """The words of each node and of all nodes that it leads to. Nodes of one circle share one set: Tarjan's algorithm, without
    recursion, which keeps what it found from one question to the next.

    Args:
        own: the words of a node itself.
        onward: where it leads.
        known: what is known already, and takes in what is found.
    """

    def __init__(
        self,
        own: Callable[[Node], Iterable[str]],
        onward: Callable[[Node], Iterable[Node]],
        known: dict[Node, frozenset[str]] | None = None,
    ):
        self._own, self._onward = own, onward
        self._known: dict[Node, frozenset[str]] = {} if known is None else known

    def of(self, node: Node) -> frozenset[str]:
        """The words of a node and of all that it leads to."""
        if node not in self._known:
            self._find(node)
        return self._known[node]

    def _find(self, start: Node) -> None:
        low: dict[Node, int] = {start: 0}
        words: dict[Node, set[str]] = {start: set(self._own(start))}
        open_nodes = [start]  # those whose circle is not complete
        path = [(start, 0, iter(self._onward(start)))]
        while path:
            node, number, rest = path[-1]
            for other in rest:
                if other in self._known:
                    words[node] |= self._known[other]
                elif other not in low:
                    low[other] = len(low)
                    words[other] = set(self._own(other))
                    open_nodes.append(other)
                    path.append((other, low[other], iter(self._onward(other))))
                    break
                else:
                    low[node] = min(low[node], low[other])
            else:
                path.pop()
                if low[node] == number:
                    self._close(node, open_nodes, words)
                if path:
                    parent = path[-1][0]
                    if node in self._known:
                        words[parent] |= self._known[node]
                    else:
                        low[parent] = min(low[parent], low[node])

    def _close(self, node: Node, open_nodes: list[Node], words: dict[Node, set[str]]) -> None:
        """All nodes of a circle, of which `node` was met first, are met: what they have is the same."""
        circle = [open_nodes.pop()]
        while circle[-1] != node:
            circle.append(open_nodes.pop())
        found = frozenset().union(*(words.pop(one) for one in circle))
        self._known.update(dict.fromkeys(circle, found))
