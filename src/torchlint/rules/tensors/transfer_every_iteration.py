"""430: what does not change is moved to the device in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import moves
from torchlint.rules.shared.surroundings import bound

CODE = 430
CALLS = frozenset({".to", ".cuda"})


def check(view: View) -> Iterator[Report]:
    """`model.to(device)` or `weights.to(device)` in a loop that binds neither name."""
    for event in view.of("method"):
        node = event.site.node
        if not moves(event, "to", "cuda") or not isinstance(node.func, cst.Attribute):
            continue
        loop = event.loops[-1] if event.loops else None
        if loop is None or loop.site is None or loop.site.parsed is not event.site.parsed:
            continue
        owner = node.func.value
        if not isinstance(loop.site.node, (cst.For, cst.While)) or not _stays(event, owner, loop.site.node):
            continue
        roles = {"call": view.call_text(event.site), "value": event.site.parsed.text(owner)}
        yield Report(CODE, event.site, roles, [(loop.site, "in every iteration of this loop")])


def _stays(event: Event, owner: cst.BaseExpression, loop: cst.For | cst.While) -> bool:
    """Whether the loop uses a value without changing it: no assignment, no other move, no write in place."""
    module = any(isinstance(alt, Instance) and alt.kind in ("module", "wrapper") for alt in real(event.subject))
    if isinstance(owner, cst.Name):
        if owner.value in bound(loop):
            return False
    elif not module or not isinstance(owner, cst.Attribute):
        return False
    if all(item is not event.site.node for item in walk(loop.body)):
        return False
    written = event.site.parsed.text
    name, moves = written(owner), 0
    for item in walk(loop):
        if isinstance(item, cst.AssignTarget):
            target = written(item.target)
            if target == name or target.startswith((f"{name}[", f"{name}.data")):
                return False
        if isinstance(item, cst.Call) and isinstance(item.func, cst.Attribute):
            owner_text = written(item.func.value)
            if owner_text == name or owner_text.startswith(f"{name}."):  # model.eval().cpu()
                moves += item.func.attr.value in ("to", "cuda", "cpu", "append", "update", "extend")
                if item.func.attr.value.endswith("_"):
                    return False
    return moves == 1
