"""906: the report of load_state_dict is taken for the model."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Opaque, real
from torchlint.rules.base import Report, View

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
            yield Report(CODE, event.site, {"call": view.call_text(alts[0].site), "name": target})


def _used_as_model(view: View, value: Opaque) -> bool:
    return any(event.subject is value for event in view.of("forward", "module.eval", "module.train")) or "module" in value.tags
