"""Loops over a short list that is written down: their turns are run one after the other, for each does something else."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.tree import children
from torchlint.dryrun.values import Const, Func, Method, Seq, Value

MOST_CALLED = 4  # functions in a list that a loop calls
MOST_PHASES = 3
_TRAINS = re.compile(r"train", re.IGNORECASE)


class ShortLoops:
    """The part of a run that knows such loops. See `interpreter.Run` for the state it works on."""

    def run_one_by_one(self, node: cst.For, over: Value) -> bool:
        """Runs the turns of a loop one after the other, as if there were no loop; False where it is one to be run as such."""
        each = self.few_callables(over) or self.phases(over)
        if not each or _jumps(node.body):
            return False
        for item in each:
            if self.graph.dead:
                return True
            self.assign(node.target, item, quiet=True)
            self.suite(node.body)
        if node.orelse is not None and not self.graph.dead:
            self.suite(node.orelse.body)
        return True

    def few_callables(self, over: Value) -> tuple[Value, ...]:
        """What a short list of functions and methods holds, where all of it is known: such a loop calls one after the other."""
        items = self.items_of(over) if isinstance(over, Seq) else None
        return tuple(items) if items and len(items) <= MOST_CALLED and all(isinstance(item, (Func, Method)) for item in items) else ()

    def phases(self, over: Value) -> tuple[Value, ...]:
        """What `["train", "val"]` holds: a loop over it trains in one turn and evaluates in the next."""
        items = self.items_of(over) if isinstance(over, Seq) else None
        if not items or not 1 < len(items) <= MOST_PHASES:
            return ()
        names = {item.value for item in items if isinstance(item, Const) and isinstance(item.value, str)}
        return tuple(items) if len(names) == len(items) and any(map(_TRAINS.match, names)) else ()


def _jumps(body: cst.BaseSuite) -> bool:
    """Whether a loop's turns may end early."""
    todo: list[cst.CSTNode] = [body]
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind in (cst.Break, cst.Continue):
            return True
        if kind in (cst.For, cst.While):  # only what stands behind the `else` of an inner loop is about the outer one
            todo.extend([node.orelse] if node.orelse is not None else [])
        elif kind not in (cst.FunctionDef, cst.ClassDef):
            todo.extend(children(node))
    return False
