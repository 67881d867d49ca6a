"""309: (N, 1) against (N,) in a loss that broadcasts."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.loss_shapes import BROADCAST, certain, is_column, is_row, reduces

CODE = 309


def check(view: View) -> Iterator[Report]:
    """`F.mse_loss(model(x), y)` where the model ends in one value and y is flat."""
    yield from once(
        _report(view, event) for event in view.of("loss") if event.loss in BROADCAST and _broadcasts(event)
    )


def _broadcasts(event: Event) -> bool:
    known = certain(event) if reduces(event) else None
    if known is None:
        return False
    given, target = known
    if is_row(target):
        return is_column(given, real(event.input)[0], target.dims[0])
    return is_row(given) and is_column(target, real(event.target)[0], given.dims[0])


def _report(view: View, event: Event) -> Report:
    related = []
    for value, shape in zip((event.input, event.target), event.shapes):
        alt = real(value)[0]
        site = alt.sites.get("shape", alt.site) if isinstance(alt, Tensor) else alt.site
        words = (
            f"({shape.dims[0] or 'N'},)"
            if shape.rank == 1
            else "(N, 1)" if shape.open else f"({shape.dims[0] or 'N'}, 1)"
        )
        if site is not None and site.node is not event.site.node:
            related.append((site, f"this gives {words}"))
    node = event.site.node
    name = event.site.parsed.text(node.func) if isinstance(node, cst.Call) else event.loss
    return Report(
        CODE,
        event.site,
        {"loss": name if len(name) <= 40 else event.loss, "call": view.call_text(event.site)},
        related,
    )
