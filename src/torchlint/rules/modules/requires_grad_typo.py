"""523: an attribute that was meant to be requires_grad."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Instance, Iter, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, code_of, replace
from torchlint.rules.modules.requires_grad_on_module import is_module, owner_text

CODE = 523
_PARAMETER = re.compile(r"^(?:param|parameter|p|w|b)$|param|\bweight$|\bbias$", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`param.require_grad = False`, `model.requires_grad_ = False`."""
    others = {event.site for event in view.of("flag.set") if not _tensor_or_module(event)}
    for event in view.of("flag.set"):
        if event.name == "requires_grad" or event.site in others:
            continue
        if event.name != "requires_grad_" and _read(event):
            continue
        mend = f"{owner_text(event)}.requires_grad"
        method = event.name == "requires_grad_" or is_module(event.subject)
        if method:
            mend += "_(...)"
        roles = {"name": event.name, "owner": owner_text(event), "mend": mend}
        yield Report(CODE, event.site, roles, mend=_mend(event, method))


def _mend(event: Event, method: bool) -> Mend | None:
    """Spells it; calls the method where that was named, or where a module has nothing else. Not safe of a tensor that is no
    parameter: one that was computed, or that holds integers, does not take the flag."""
    site, node = event.site, event.site.node
    if not isinstance(node, cst.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0].target, cst.Attribute):
        return None
    target = node.targets[0].target
    if not method:
        safe = all(_is_parameter(alt) for alt in real(event.subject))
        return Mend("write `requires_grad`", [replace(site, "requires_grad", target.attr)], safe)
    call = f"{code_of(site, target.value)}.requires_grad_({code_of(site, node.value)})"
    safe = all(_is_parameter(alt) or is_module(alt) or isinstance(alt, Instance) for alt in real(event.subject))
    return Mend("call `requires_grad_`", [replace(site, call)], safe)


def _is_parameter(value: Value) -> bool:
    """Whether a value is a module's parameter for certain."""
    over = getattr(value, "origin", None)
    listed = isinstance(over, Iter) and over.kind in ("parameters", "named_parameters")
    return listed or isinstance(value, Tensor) and bool(value.traits.get("param"))


def _tensor_or_module(event: Event) -> bool:
    value: Value = event.subject
    if isinstance(value, Tensor) or is_module(value):
        return True
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper") and event.name == "requires_grad_"
    if not isinstance(value, Opaque):
        return False
    over = value.origin
    if isinstance(over, Iter) and over.kind in ("parameters", "named_parameters"):
        return True
    return "module" in value.tags or bool(_PARAMETER.search(owner_text(event)))


def _read(event: Event) -> bool:
    """Whether the program has a use of its own for that name."""
    word = re.compile(rf"\.{event.name}\b(?!\s*=[^=])|['\"]{event.name}['\"]")
    return any(word.search(line) for line in event.site.parsed.facts.lines)
