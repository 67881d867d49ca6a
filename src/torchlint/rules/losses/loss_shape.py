"""308: input and target of a loss that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import before
from torchlint.dryrun.torch_api.shapes import Shape, differ
from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.loss_shapes import BROADCAST, CLASSES, EQUAL, certain, is_column, is_row

CODE = 308


def check(view: View) -> Iterator[Report]:
    """Scores of (N, L, C) in cross_entropy, (N, 1) against (N,) in a binary loss, sizes that do not broadcast."""
    found = ((event, _problem(event)) for event in view.of("loss"))
    yield from once(_report(view, event, problem) for event, problem in found if problem and not _raised_before(event))


def _raised_before(event: Event) -> bool:
    """Whether the program has ended by then, on a line where sizes do not fit either: that one is told of."""
    found, never = before(event, lambda other: other.kind == "shape")
    return bool(found) and not never


def _problem(event: Event) -> str | None:
    """What is wrong."""
    known = certain(event)
    if known is None:
        return None
    given, target = known
    if event.loss in CLASSES:
        wrong = _classes(given, target)
        return f"scores of {given.text()} and a target of {target.text()}: {wrong}" if wrong else None
    if event.loss in EQUAL and _unequal(event, given, target):
        return f"an input of {given.text()} and a target of {target.text()}, and takes only two of one shape"
    if event.loss in BROADCAST and any(
        isinstance(a, int) and isinstance(b, int) and a != b and 1 not in (a, b)
        for a, b in zip(reversed(given.dims), reversed(target.dims))
    ):
        return f"an input of {given.text()} and a target of {target.text()}, which do not broadcast"
    return None


def _classes(given: Shape, target: Shape) -> str | None:
    """Class numbers have the input's shape without its second dimension; probabilities have all of it."""
    if (target.rank or 0) >= 2 and given.dims and differ(given.dims[-1], target.dims[-1]):
        # Whatever the rank of the scores: only a target of one dimension has no part in their last one.
        if target.dims[-1] == 1 and given.rank != target.rank + 1:
            return "class numbers are one to a row, without a dimension of their own"
        if given.rank == target.rank + 1:
            return "dimension 1 of the scores counts as the classes, so the others do not agree"
        return "their last dimensions do not agree"
    if given.rank is None and target.rank == 1 and len(given.dims) > 2:
        return "class numbers have one dimension less than the scores"
    if given.rank is None or target.rank is None or given.rank < 2:
        return None
    rest = (given.dims[0], *given.dims[2:])
    if target.rank == given.rank - 1 and any(differ(a, b) for a, b in zip(rest, target.dims)):
        return "dimension 1 of the scores counts as the classes, and the others do not agree"
    if target.rank not in (given.rank, given.rank - 1):
        return "class numbers have one dimension less than the scores"
    return None


def _unequal(event: Event, given: Shape, target: Shape) -> bool:
    """Whether two shapes are not one for certain. (..., 1) may be (N,) where N is 1: it counts where it is a column."""
    one, two = real(event.input)[0], real(event.target)[0]
    if (
        is_row(target)
        and is_column(given, one, target.dims[0])
        or is_row(given)
        and is_column(target, two, given.dims[0])
    ):
        return True
    if given.rank is not None and target.rank is not None and given.rank != target.rank:
        return True
    if given.rank is not None and len(target.dims) > given.rank or target.rank is not None and len(given.dims) > target.rank:
        return True  # however many more there are in front
    return any(differ(a, b) for a, b in zip(reversed(given.dims), reversed(target.dims)))


def _report(view: View, event: Event, problem: str) -> Report:
    related = []
    for value, what in ((event.input, "the input"), (event.target, "the target")):
        alt = real(value)[0]
        site = alt.sites.get("shape", alt.site) if isinstance(alt, Tensor) else alt.site
        if site is not None and site.node is not event.site.node:
            related.append((site, f"{what} gets its shape here"))
    return Report(CODE, event.site, {"call": view.call_text(event.site), "problem": problem}, related)
