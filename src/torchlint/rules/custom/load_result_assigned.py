"""906: the report of load_state_dict is taken for the model."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Opaque, real
from torchlint.rules.base import Report, View
from torchlint.rules.mend import Mend, between, insert_after

CODE = 906


def check(view: View) -> Iterator[Report]:
    """`model = model.load_state_dict(...)`, or a name for the result that is then used as a model."""
    for event in view.of("assign"):
        alts = real(event.subject)
        if len(alts) != 1 or not isinstance(alts[0], Opaque) or "load_result" not in alts[0].tags:
            continue
        node = getattr(event.site.node, "value", None)
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.attr.value != "load_state_dict":
            continue  # the value only passes through here
        target = event.site.parsed.text(event.target)
        owner = event.site.parsed.text(node.func.value)
        if target == owner or _used_as_model(view, alts[0]):
            roles = {"call": view.call_text(alts[0].site), "name": target}
            yield Report(CODE, event.site, roles, mend=_mend(event.site, target, owner))


def _mend(site: Site, target: str, owner: str) -> Mend | None:
    """Keeps the model under its name, and loads by a statement of its own."""
    statement = site.node
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    call = statement.value
    if call.lpar or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    if target == owner:
        return Mend("load in place", [between(site, statement, call)])
    at = site.parsed.location(statement)
    row = site.parsed.facts.lines[at.row - 1]
    indent = row[: at.column - 1]
    inner = site.parsed.location(call.func.value)
    if indent.strip() or not isinstance(statement.targets[0].target, (cst.Name, cst.Attribute)) or inner.end_row != at.row:
        return None
    # generator = Generator().load_state_dict(w): the model gets the name, then loads.
    return Mend("name the model first, then load", [insert_after(site, f"\n{indent}{target}", call.func.value)])


def _used_as_model(view: View, value: Opaque) -> bool:
    return any(event.subject is value for event in view.of("forward", "module.eval", "module.train")) or "module" in value.tags
