"""Whether nobody reads what a model gives: a pass for what its layers note down of the data, such as running statistics."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import is_model
from torchlint.rules.shared.surroundings import bound


def thrown_away(event: Event) -> bool:
    """Whether a forward's output is put nowhere, or under a name that nothing reads."""
    site = event.site
    around = list(site.parsed.around(site.node))
    statement = around[0] if around else None
    if isinstance(statement, cst.Expr):
        return True
    if not isinstance(statement, cst.Assign):
        return False
    names = bound(statement)
    if not names or any(not isinstance(target.target, (cst.Name, cst.Tuple)) for target in statement.targets):
        return False  # what is put into an attribute may be read anywhere
    scope = next((item for item in around if isinstance(item, cst.FunctionDef)), site.parsed.module)
    written = {id(node) for item in walk(scope) if isinstance(item, cst.AssignTarget) for node in walk(item)}
    return not any(isinstance(node, cst.Name) and node.value in names and id(node) not in written for node in walk(scope))


def only_gone_through(view: View, event: Event) -> bool:
    """Whether a function that sets evaluation mode takes a model through data, and asks for nothing: a calibration. Not where a hook
    may keep what is computed, nor where a loss may be kept in the model, which something goes backward from."""
    unit, loop = event.site.parsed.unit, event.loops[-1] if event.loops else None
    if loop is None or loop.site is None or event.mode is not False or event.mode_site is None or event.mode_site.parsed is not event.site.parsed:
        return False
    if not goes_over_data(event) or not is_model(event.subject):
        return False
    if view.of("hook") or any("hook" in word for word in unit.words) or not thrown_away(event) or is_looked_into(event):
        return False
    return not any(event.loops[0] in step.loops or step.site.parsed.unit is unit for step in view.of("backward", "autograd.grad", "optimizer.step"))


def is_looked_into(event: Event) -> bool:
    """Whether something is read of the model itself, which may have kept what it computed: `model.features`."""
    parsed = event.site.parsed
    owner = parsed.text(event.site.node.func).removesuffix(".forward") if isinstance(event.site.node, cst.Call) else ""
    return any(
        isinstance(node, cst.Attribute) and node.attr.value not in _OF_MODULES and parsed.text(node.value) == owner for node in walk(parsed.module)
    )


_OF_MODULES = frozenset("eval train to cuda cpu float double half forward parameters named_parameters modules apply zero_grad training".split())


def goes_over_data(event: Event) -> bool:
    """Whether the loop around a forward is one over data, not over numbers: that is a warm-up, or the time that a model takes."""
    loop = event.loops[-1].site if event.loops else None
    if loop is None or not isinstance(loop.node, cst.For):
        return False
    iterated = loop.parsed.text(loop.node.iter)
    return not any(f"{word}(" in iterated for word in ("range", "trange"))
