"""907: strict=False, and nobody looks at what did not match."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import unit_text

CODE = 907
_COMPARED = re.compile(r"missing|unexpected|_keys\b")


def check(view: View) -> Iterator[Report]:
    """`model.load_state_dict(state, strict=False)` as a statement of its own."""
    loads = {id(event.site.node): event for event in view.of("load")}
    for event in view.of("discarded"):
        node = event.site.node
        if event.name != "load_state_dict" or id(node) not in loads or not isinstance(node, cst.Call):
            continue
        given = [arg.value for n, arg in enumerate(node.args) if arg.keyword is not None and arg.keyword.value == "strict" or arg.keyword is None and n == 1]
        if _COMPARED.search(unit_text(event.site)):
            continue
        if given and isinstance(given[0], cst.Name) and given[0].value == "False":
            yield Report(CODE, event.site, {"model": view.owner_text(loads[id(node)], "model")})
