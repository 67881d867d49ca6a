"""418: forward goes through the rows of a tensor one by one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.surroundings import bound, read

CODE = 418


def check(view: View) -> Iterator[Report]:
    """`for row in x:`, `for i in range(x.size(0)): ... x[i] ...` in a module's forward."""
    for event in view.of("loop"):
        node = event.site.node
        if not isinstance(node, cst.For) or event.site.parsed.unit.name != "forward":
            continue
        alts = real(event.subject)
        rows = bool(alts) and all(isinstance(alt, Tensor) and "made" not in alt.traits for alt in alts)
        if (rows or _counts_rows(event.site.parsed.text, node)) and not _carries(node):
            yield Report(CODE, event.site, {"over": event.site.parsed.text(node.iter)})


def _counts_rows(written, loop: cst.For) -> bool:
    """Whether a loop counts the rows of a tensor and takes them one at a time."""
    call = loop.iter
    if not isinstance(call, cst.Call) or written(call.func) != "range" or len(call.args) != 1:
        return False
    if not isinstance(loop.target, cst.Name):
        return False
    text = written(call.args[0].value)
    name = next((text.removesuffix(end) for end in (".size(0)", ".shape[0]", ".size()[0]") if text.endswith(end)), None)
    if not name:
        return False
    taken = (f"{name}[{loop.target.value}]", f"{name}[{loop.target.value},")
    return any(isinstance(item, cst.Subscript) and written(item).startswith(taken) for item in walk(loop.body))


def _carries(loop: cst.For) -> bool:
    """Whether an iteration needs what the one before gave: such a loop cannot become one operation."""
    for item in walk(loop.body):
        if isinstance(item, cst.AugAssign):
            continue
        if isinstance(item, cst.Assign) and bound(item) & read(item.value):
            return True
        if isinstance(item, (cst.Break, cst.Continue, cst.Return)):
            return True
    return False
