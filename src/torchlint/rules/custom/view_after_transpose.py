"""406: a view that must merge dimensions that are no longer neighbours in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Seq, Tensor, Value, number, real
from torchlint.rules.base import Report, View

CODE = 406
BATCH_NAME = re.compile(r"^(?:b|n|bs|bsz|B|N|batch|batch_size|nbatches)$|\.size\(0\)$|\.shape\[0\]$")


def check(view: View) -> Iterator[Report]:
    """Only views that flatten everything, or everything behind the batch: those cannot be legal by accident."""
    for event in view.of("view"):
        alts = real(event.subject)
        if len(alts) != 1 or not isinstance(alts[0], Tensor) or not isinstance(alts[0].traits.get("layout"), tuple):
            continue
        order = _order(alts[0].traits["layout"])
        if order is not None and _must_fail(view, event, order):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)},
                         [(alts[0].sites["layout"], "the dimensions are taken out of order here")])


def _order(layout: tuple[str, list[Value]]) -> list[int] | None:
    """The permutation of the dimensions; for a transpose of unknown rank, up to the dimensions it names."""
    name, args = layout
    numbers = [number(arg) for arg in args]
    if name == "permute" and len(args) > 1 and None not in numbers:
        order = [int(n) for n in numbers]
        return order if sorted(order) == list(range(len(order))) else None
    if name == "transpose" and len(numbers) == 2 and None not in numbers:
        one, two = int(numbers[0]), int(numbers[1])
        if one >= 0 and two >= 0 and one != two:
            order = list(range(max(one, two) + 1))
            order[one], order[two] = order[two], order[one]
            return order
    if name == "t":
        return [1, 0]
    return None


def _must_fail(view: View, event, order: list[int]) -> bool:
    args = event.args
    if len(args) == 1 and isinstance(args[0], Seq):
        args = list(view.run.known_items(args[0]))
    if order == list(range(len(order))) or not args:
        return False
    if len(args) == 1:
        return isinstance(args[0], Const) and args[0].value == -1
    if len(args) == 2 and isinstance(args[1], Const) and args[1].value == -1 and order[0] == 0:
        node = event.site.node
        if isinstance(node, cst.Call) and len(node.args) == 2:
            return bool(BATCH_NAME.search(event.site.parsed.text(node.args[0].value)))
    return False
