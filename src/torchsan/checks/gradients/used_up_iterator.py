"""131: clipping gets an iterator that something else has walked through before. (An optimizer raises: `checks/raised/from_lines.py`.)"""

from __future__ import annotations

import ast
import types
from types import CodeType

from torchsan.check import Check
from torchsan.program.naming import name_of
from torchsan.program.source import tree_of
from torchsan.program.where import Where
from torchsan.stream.events import Event


class UsedUp(Check):
    """One iterator over the parameters is used twice."""

    numbers = (131,)

    def before_clip(self, event: Event) -> None:
        spent, event.spent = event.spent, None
        if spent is None:
            return
        # Without gradients there was nothing to clip, whoever held it.
        waiting = [account for account in self.ledger if account.backwards]
        place, name = event.where(), name_of(spent)
        if not waiting or place is None or name is None:
            return
        row = used_before(place.code, place.line, name)
        if row is None and not isinstance(spent, types.GeneratorType):
            return  # a filter may have let nothing through
        self.found(
            131,
            event,
            name=name,
            call=event.call,
            fact=f"{sum(p.grad is not None for a in waiting for p in a.params)} gradients stay as they are",
            related=((Where(place.code, -1, row), "used up here"),) if row is not None else (),
        )


def used_before(code: CodeType, line: int, name: str) -> int | None:
    """The row where `name` is used between being made and `line`: above it in the function, or for an attribute
    anywhere else in the file."""
    tree = tree_of(code.co_filename)
    nodes = [n for n in (ast.walk(tree) if tree is not None else ()) if isinstance(n, (ast.Name, ast.Attribute))]
    nodes = [n for n in nodes if n.lineno != line and ast.unparse(n) == name]
    if "." not in name:
        nodes = [n for n in nodes if code.co_firstlineno <= n.lineno < line]
    stored = max((n.lineno for n in nodes if isinstance(n.ctx, ast.Store)), default=None)
    used = [n.lineno for n in nodes if isinstance(n.ctx, ast.Load) and stored is not None and n.lineno > stored]
    return max((row for row in used if row < line), default=max(used, default=None))


CHECKS = (UsedUp,)
