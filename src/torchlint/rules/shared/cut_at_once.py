"""Whether nothing can go backward through what a model gives: wherever it is read, its graph is cut off first."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import is_model
from torchlint.rules.shared.surroundings import bound
from torchlint.rules.shared.thrown_away import is_looked_into


def cut_at_once(view: View, event: Event) -> bool:
    """Whether a loop that does not train by itself asks a model in evaluation mode and only reads `.data` or `.detach()` of the output:
    the count of errors beside an attack, whose own forward needs a graph. Not where a hook or the model may have kept something."""
    if event.mode is not False or event.mode_site is None or not event.loops or not is_model(event.subject) or event.get("method") is not None:
        return False
    if view.of("hook") or any("hook" in word for word in event.site.parsed.facts.words) or is_looked_into(event):
        return False
    if any(step.loops and step.loops[-1] is event.loops[-1] for step in view.of("backward", "autograd.grad", "optimizer.step")):
        return False
    return _is_read_cut(event.site.parsed, event.site.node)


def _is_read_cut(parsed: Parsed, call: cst.CSTNode) -> bool:
    """Whether a call is read cut off, `model(x).data`, or given one name, and each time that this is read: `out.data.max(1)`."""
    around = list(parsed.around(call))
    if _cuts(around, call):
        return True
    statement = around[0] if around else None
    if not isinstance(statement, cst.Assign) or statement.value is not call or len(statement.targets) != 1:
        return False
    if not isinstance(statement.targets[0].target, cst.Name):
        return False
    scope = next((item for item in around if isinstance(item, cst.FunctionDef)), parsed.module)
    (name,) = bound(statement)
    named = [node for node in walk(scope) if isinstance(node, cst.Name) and node.value == name]
    read = [node for node in named if node is not statement.targets[0].target]
    return bool(read) and all(_cuts(list(parsed.around(node)), node) for node in read)


def _cuts(around: list[cst.CSTNode], node: cst.CSTNode) -> bool:
    """Whether a value is asked for what it is without its graph, and for nothing else."""
    outer = around[0] if around else None
    if not isinstance(outer, cst.Attribute) or outer.value is not node:
        return False
    call = around[1] if len(around) > 1 else None
    return outer.attr.value == "data" or outer.attr.value == "detach" and isinstance(call, cst.Call) and call.func is outer
