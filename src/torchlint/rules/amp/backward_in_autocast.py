"""701: the backward pass runs inside autocast."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, Instance
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend
from torchlint.rules.mends.rows import deeper, outdented, statement_at

CODE = 701
_KINDS = frozenset({"autocast", "hosted autocast"})  # torch's, and that of an Accelerator or a Fabric
_SENT = (
    "`{call}` runs inside autocast, which is meant for the forward pass and the loss alone",
    "call `{call}` after the `with` block: autograd takes the types of the forward pass by itself",
)
# What may stand behind the backward and computes nothing that autocast would change.
_BEHIND = frozenset(
    "backward step zero_grad scale unscale_ update get_scale clip_grad_norm_ clip_grad_value_ parameters no_sync"
    " item tolist detach cpu float int str len round format append extend get_last_lr print write log info debug"
    " add_scalar set_postfix set_postfix_str set_description time perf_counter synchronize empty_cache size".split()
)


def check(view: View) -> Iterator[Report]:
    """`loss.backward()` in the `with torch.autocast(...)` block that the forward pass needs."""
    for event in view.of("backward"):
        context = next((context for context in reversed(event.contexts) if context.kind in _KINDS), None)
        if context is None or isinstance(context.value, Instance) and _off(context.value):
            continue
        related = [(context.site, "autocast begins here")] if context.site is not None else []
        mend = _mend(event.site, context.site)
        sent = _sent(view, event)
        roles = {"loss": view.owner_text(event, "loss")} if sent is None else {"call": sent}
        yield Report(CODE, event.site, roles, related, mend, words=None if sent is None else _SENT)


def _sent(view: View, backward: Event) -> str | None:
    """`accelerator.backward(loss)`, where a framework sends it."""
    func = getattr(backward.site.node, "func", None)
    return None if backward.get("framework") is None or func is None else f"{backward.site.parsed.text(func)}({view.loss_text(backward)})"


def _mend(site: Site, begins: Site | None) -> Mend | None:
    """Ends the block before the backward, where it is all about the step from there on."""
    place = statement_at(site)
    if place is None or not place.alone or not place.index or begins is None or begins.parsed is not site.parsed:
        return None
    around, behind = place.parents[-1], [place.statement, *place.rest]
    if not isinstance(around, ast.With) or len(around.items) != 1:
        return None
    if around.items[0].context_expr.lineno != begins.location().row:
        return None
    calls = [node.func for item in behind for node in ast.walk(item) if isinstance(node, ast.Call)]
    names = {getattr(func, "attr", getattr(func, "id", "")) for func in calls}
    if names - _BEHIND or not all(isinstance(item, (ast.Expr, ast.Assign, ast.AugAssign, ast.If)) for item in behind):
        return None
    parsed = site.parsed
    first = place.block[place.index - 1].end_lineno + 1
    changes = outdented(parsed, first, behind[-1].end_lineno, deeper(parsed, place.statement.lineno))
    return Mend("end autocast before the backward", changes, safe=False) if changes is not None else None


def _off(made: Instance) -> bool:
    given = made.kwargs.get("enabled", made.args[0] if made.args else None)
    return isinstance(given, Const) and given.value is False
