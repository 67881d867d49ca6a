"""906: what load_state_dict returns is taken for what it loads into."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.names import OPTIMIZER_NAME, SCALER_NAME, SCHEDULER_NAME
from torchlint.dryrun.values import Instance, Opaque, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, between, binds, insert_after

CODE = 906


def check(view: View) -> Iterator[Report]:
    """`model = model.load_state_dict(...)`, or a name for the result that is then used as a model."""
    for event in view.of("assign"):
        node = getattr(event.site.node, "value", None)
        method = node.func if isinstance(node, cst.Call) else None
        if not isinstance(method, cst.Attribute) or method.attr.value != "load_state_dict":
            continue  # the value only passes through here
        target = event.site.parsed.text(event.target)
        owner = event.site.parsed.text(method.value)
        words = _words(view, event.subject, target if target == owner else "")
        if words is not None and not _read_as_report(event.site, target):
            roles = {"call": view.call_text(Site(event.site.parsed, node)), "name": target, **words}
            yield Report(CODE, event.site, roles, mend=_mend(event.site, target, owner, _raises(view, event.subject)))


_REPORT = {"gives": "a report on keys", "left": "no longer a model", "kept": "the model"}
_NOTHING = {"gives": "None", "left": "None", "kept": "the object"}
_EITHER = {"gives": "a report on keys, or None", "left": "no longer what it was", "kept": "the object"}


def _words(view: View, result: Value, same: str) -> dict[str, str] | None:
    """What the message says of a result: a module gives a report, optimizers, schedulers and scalers give None. None
    where the result may be what is wanted. `same` is the name that it is bound to, if that is the name of what it loads
    into."""
    alts = real(result)
    if len(alts) != 1 or not isinstance(alts[0], Opaque) or "load_result" not in alts[0].tags:
        return None
    receiver = alts[0].origin
    made = type(receiver) is Opaque and receiver.source == "call" and not receiver.tags
    if made and receiver.name.rpartition(".")[2][:1].isupper():
        return None  # of a class that cannot be seen: its load_state_dict may return the object, or another
    if _used_as_model(view, alts[0]):
        return _REPORT
    if not same:
        return None
    kinds = {receiver.kind} if isinstance(receiver, Instance) else getattr(receiver, "tags", frozenset())
    if kinds & {"module", "wrapper", "loss"}:
        return _REPORT
    name = same.rpartition(".")[2]
    if kinds & {"optimizer", "scheduler", "scaler"} or any(words.search(name) for words in _STEPPED):
        return _NOTHING
    return _EITHER


_STEPPED = (OPTIMIZER_NAME, SCHEDULER_NAME, SCALER_NAME)


def _raises(view: View, result: Value) -> bool:
    """Whether the program cannot have worked: what is loaded is known, and its result is None or is used as a model."""
    loaded = result.origin if isinstance(result, Opaque) else None
    if isinstance(loaded, Instance):
        known = isinstance(loaded.cls, Ref) or "?" not in loaded.cls.externals()
        kinds = {loaded.kind} if known else frozenset()
    else:
        kinds = getattr(loaded, "tags", frozenset())
    return bool(kinds & {"optimizer", "scheduler"}) or bool(kinds & {"module", "wrapper", "loss"}) and _used_as_model(view, result)


def _read_as_report(site: Site, target: str) -> bool:
    """Whether a name is asked for keys, unpacked or indexed behind the line that binds it: there it is meant as the report. A
    name that is not a function's own is looked for in the whole file."""
    unit, lines = site.parsed.unit, site.parsed.facts.lines
    inside = unit.name != "<module>" and target.isidentifier() and binds(site.parsed, site.node, target)
    text = "".join(lines[site.location().end_row : unit.end] if inside else lines)
    name = rf"(?<![\w.]){re.escape(target)}"
    return bool(re.search(rf"{name}\s*(?:\.(?:missing|unexpected)_keys\b|\[)|,\s*\w+\s*=\s*{name}\s*$", text, re.MULTILINE))


def _mend(site: Site, target: str, owner: str, safe: bool) -> Mend | None:
    """Keeps the model under its name, and loads by a statement of its own. Only safe where the name was of no use before."""
    statement = site.node
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    call = statement.value
    if call.lpar or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    if target == owner:
        return Mend("load in place", [between(site, statement, call)], safe)
    at = site.parsed.location(statement)
    row = site.parsed.facts.lines[at.row - 1]
    indent = row[: at.column - 1]
    inner = site.parsed.location(call.func.value)
    if indent.strip() or not isinstance(statement.targets[0].target, (cst.Name, cst.Attribute)) or inner.end_row != at.row:
        return None
    # generator = Generator().load_state_dict(w): the model gets the name, then loads.
    return Mend("name the model first, then load", [insert_after(site, f"\n{indent}{target}", call.func.value)], safe)


def _used_as_model(view: View, value: Opaque) -> bool:
    return any(event.subject is value for event in view.of("forward", "module.eval", "module.train")) or "module" in value.tags
