"""Whether what a model gives is only compared with what is right: by a loss that nothing learns from, or with `==`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import before
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, real
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import given_held_out
from torchlint.rules.shared.readouts import comes_from, kept_as_numbers, read_out
from torchlint.rules.shared.surroundings import bound, read


def is_measured(view: View, event: Event) -> bool:
    """Whether a forward without gradients, of a model that was trained before, is one on other data than it learns from, and
    ends in a measure, or on data that are called held out, and ends as numbers."""
    if event.grad is not False or not _behind_training_on_others(view, event):
        return False
    return _lost(view, event) or _compared(event) or given_held_out(event) and _ends_as_numbers(view, event)


def is_judged_once(view: View, event: Event) -> bool:
    """Whether a forward outside of any loop is one of a model that was trained before, on data that are called held out, whose output
    somebody reads: `scores = model(x_test)` at the end of a script."""
    if event.loops or not given_held_out(event) or not _behind_training_on_others(view, event):
        return False
    if event.grad is not False:
        return read_out(view, event)
    return _ends_as_numbers(view, event)


def _ends_as_numbers(view: View, event: Event) -> bool:
    return kept_as_numbers(view, event) or any(comes_from(event, alt) for other in view.of("readout") for alt in real(other.subject))


def _behind_training_on_others(view: View, event: Event) -> bool:
    backwards = view.of("backward")
    if any(event in backward.flows for backward in (*backwards, *view.of("autograd.grad"))):
        return False
    learns = [flow for backward in backwards for flow in backward.flows if flow.kind == "forward" and flow.subject is event.subject]
    given = {id(alt) for flow in learns for value in flow.get("args", ()) for alt in real(value)}
    # Of a Sequential, its layers are called at the same place, too; but a helper's forward is another one for each call of the helper.
    whole = next(other for other in view.of("forward") if other.site.node is event.site.node and other.calls == event.calls)
    if whole is not event or not event.args or any(id(alt) in given for value in event.args for alt in real(value)):
        return False
    return bool(before(event, lambda other: other.kind == "backward" and any(flow in other.flows for flow in learns))[0])


def _lost(view: View, event: Event) -> bool:
    return any(event in alt.flows for loss in view.of("loss") for alt in real(loss.input))


def _compared(event: Event) -> bool:
    """Whether an `==` is asked of the output, or of what is computed from it, in the same function."""
    around = list(event.site.parsed.around(event.site.node))
    statement = next((node for node in around if isinstance(node, (cst.Assign, cst.AugAssign, cst.Expr, cst.Return))), None)
    if statement is None:
        return False
    if any(event.site.node in set(walk(node)) for node in _comparisons(statement)):
        return True
    names = set(bound(statement)) if isinstance(statement, cst.Assign) else set()
    scope = next((node for node in around if isinstance(node, cst.FunctionDef)), event.site.parsed.module)
    behind = False
    for node in walk(scope):
        behind = behind or node is statement
        if not behind or not names:
            continue
        if any(read(one) & names for one in _comparisons(node, deep=False)):
            return True
        if isinstance(node, cst.Assign) and read(node.value) & names:
            names |= set(bound(node))
    return False


def _comparisons(node: cst.CSTNode, deep: bool = True) -> Iterator[cst.CSTNode]:
    for item in walk(node) if deep else (node,):
        if isinstance(item, cst.Comparison) and any(isinstance(part.operator, cst.Equal) for part in item.comparisons):
            yield item
        elif isinstance(item, cst.Call) and isinstance(item.func, cst.Attribute) and item.func.attr.value in ("eq", "allclose"):
            yield item
