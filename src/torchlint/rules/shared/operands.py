"""What a function of one tensor is taken of, whichever way it is called."""

from __future__ import annotations

from collections.abc import Container

import libcst as cst

from torchlint.dryrun.values import Event, Value


def operand(event: Event, functions: Container[str], method: str) -> Value | None:
    """Of a call of one of some functions, or of the method without arguments, `x.log()` (a logger's has some); else None."""
    if event.kind == "call":
        return event.args[0] if event.name in functions and event.args else None
    node = event.site.node
    named = event.kind == "method" and event.name.rpartition(".")[2] == method
    return event.subject if named and isinstance(node, cst.Call) and not node.args else None
