"""309: (N, 1) against (N,) in a loss that broadcasts."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.torch_api.shapes import Shape
from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.loss_shapes import BROADCAST, certain, is_column, is_row, reduces

CODE = 309
ALL_PAIRS = "each prediction with every target: it broadcasts (N, 1) against (N,) to (N, N)"


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
    if is_row(target) and is_column(given, real(event.input)[0], target.dims[0]):
        return True
    return is_row(given) and is_column(target, real(event.target)[0], given.dims[0]) or _stretched(given, target)


def _stretched(given: Shape, target: Shape) -> bool:
    """Whether sizes that are all known are not one shape and fit all the same: (10, 1) with (1, 1), (8, 1, 5) with (8, 1). One
    number, or one row without a dimension for the batch, is meant to be compared with each."""
    if given.rank is None or target.rank is None or given.dims == target.dims:
        return False
    small, large = sorted((given, target), key=lambda shape: shape.rank)
    if not small.rank or not all(isinstance(size, int) for size in (*small.dims, *large.dims)):
        return False
    own = (1,) * (large.rank - small.rank) + small.dims
    pairs = list(zip(own, large.dims))
    if not all(one == two or 1 in (one, two) for one, two in pairs):
        return False  # that raises
    both = any(one == 1 != two for one, two in pairs) and any(two == 1 != one for one, two in pairs)
    return both or small.rank == large.rank > 1 and given.dims[0] != target.dims[0]


def _pairs(given: Shape, target: Shape) -> str:
    """What is compared with what."""
    if {given.rank, target.rank} <= {None, 1, 2} and (is_row(given) or is_row(target)):
        return ALL_PAIRS
    one, two = (shape.text() for shape in (given, target))
    return f"values that do not belong together: it broadcasts {one} against {two}"


def _report(view: View, event: Event) -> Report:
    related = []
    for value, shape in zip((event.input, event.target), event.shapes):
        alt = real(value)[0]
        site = alt.sites.get("shape", alt.site) if isinstance(alt, Tensor) else alt.site
        words = "(N, 1)" if shape.open else f"({', '.join(str(size or 'N') for size in shape.dims)}{',' * (shape.rank == 1)})"
        if site is not None and site.node is not event.site.node:
            related.append((site, f"this gives {words}"))
    node = event.site.node
    name = event.site.parsed.text(node.func) if isinstance(node, cst.Call) else event.loss
    return Report(
        CODE,
        event.site,
        {"loss": name if len(name) <= 40 else event.loss, "call": view.call_text(event.site),
         "pairs": _pairs(*event.shapes)},
        related,
    )
