"""415: forward writes into what its caller gave it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.rules.base import Report, View
from torchlint.rules.shared.surroundings import bound

CODE = 415
CALLS = frozenset({"[]="})


def check(view: View) -> Iterator[Report]:
    """`features[name] = self.layers[name](features[name])` in forward, where `features` is its argument."""
    for event in view.of("item.set", "inplace"):
        unit, node = event.site.parsed.unit, event.site.node
        if unit.name != "forward":
            continue
        target = event.target.value if event.kind == "item.set" else None
        if event.kind == "inplace" and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            target = node.func.value
        if not isinstance(target, cst.Name) or target.value not in unit.params[1:]:
            continue
        if _is_own(event.site, target.value):
            continue
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "value": target.value})


def _is_own(site: Site, name: str) -> bool:
    """Whether the name may stand for something of forward's own: it was bound before, or in the same statement."""
    around = tuple(site.parsed.around(site.node))
    function = next((n for n, item in enumerate(around) if isinstance(item, cst.FunctionDef)), None)
    if function is None or function < 2:
        return True
    last = around[function - 2]  # between them stands the block
    for statement in around[function].body.body:
        if name in bound(statement):
            return True
        if statement is last or statement is site.node:
            return False
    return True
