"""417: a column of predictions meets a row of targets."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.shapes import Shape
from torchlint.dryrun.values import Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.loss_shapes import is_column, is_row, of_batch
from torchlint.rules.shared.reached import may_be_dead

CODE = 417


def check(view: View) -> Iterator[Report]:
    """`(model(x) - y) ** 2` where the model gives (N, 1) and y is (N,)."""
    yield from once(_reports(view))


def _reports(view: View) -> Iterator[Report]:
    for event in view.of("outer"):
        for column, row in ((0, 1), (1, 0)):
            one, two = event.sides[column], event.sides[row]
            if (
                len(real(one)) == len(real(two)) == 1
                and _meets(one, two, event.shapes[column], event.shapes[row])
                and not may_be_dead(event)
            ):
                picked = _picked(one)
                words = "this keeps a dimension of one: (N, 1)" if picked else "this layer gives one value to a row: (N, 1)"
                related = [(picked or one.sites["shape"], words)]
                if two.site is not None and two.site.node is not event.site.node:
                    related.append((two.site, "this is one row of values: (N,)"))
                yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related)


def _meets(column: Value, row: Value, wide: Shape, flat: Shape) -> bool:
    """Whether a layer's output, one row for each example, meets as many values in one row that came out of no model."""
    if not isinstance(column, Tensor) or not is_row(flat) or not is_column(wide, column, flat.dims[0]) or row.flows:
        return False
    if _picked(column) is not None:
        return of_batch(column) and of_batch(row)
    made = column.sites.get("shape")
    if made is None or not isinstance(made.node, cst.Call) or not _is_class(made.node.func):
        return False  # unsqueeze and its like: all pairs are meant
    if wide.rank == 2 and isinstance(wide.dims[0], int):
        return wide.dims[0] == flat.dims[0]
    return of_batch(column) and of_batch(row)


def _picked(column: Tensor) -> Site | None:
    """Where the likeliest class of each row was picked and its dimension kept: `topk(1)`, `max(1, keepdim=True)`."""
    picks = column.origin if column.source == "item" else None
    return picks.site if type(picks) is Opaque and picks.source == "call" and picks.name in _PICKS else None


_PICKS = frozenset({"topk", "max", "min"})


def _is_class(func: cst.BaseExpression) -> bool:
    name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
    return name[:1].isupper()
