"""316: the mean of batch means in an evaluation whose last batch is smaller: what it came to, and what it would be.

Asked for only. The losses and the sizes of the batches are seen in the run, what the program makes of them is read in
the loop: each loss is added as it is, and the sum divided by the number of batches. Where losses are weighted, or not every
target counts as much, nothing is said; nor where the two figures are as good as equal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torchsan.check import Check
from torchsan.checks.data.passes import called
from torchsan.own import math, torch
from torchsan.program.averages import Average, average_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

_MOST = 1 << 14  # losses of a pass
_FAR = 1e-3  # how far the figures must be apart, for the difference to be seen
_LISTED = (
    "`{call}`, averaged afterwards: the last batch is smaller and counts as much as the others",
    "weight each mean by its batch: keep `loss.item() * len(batch)`, and divide the sum by the number of samples",
)
_COUNTED = (
    "`{call}`, later divided by `{by}`: the last batch is smaller and counts as much as the others",
    "weight each mean by its batch: add `loss.item() * len(batch)` and divide by the number of samples",
)


class _Loss(NamedTuple):
    batch: int
    size: int
    value: torch.Tensor


class MeanOfBatchMeans(Check):
    """Batch means are averaged, though the last batch is smaller."""

    numbers = (316,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.loader: int | None = None  # that gave the last batch, by its id
        self.batches = 0
        self.losses: dict[Where, list[_Loss]] = {}  # of the pass that goes on, by the line that computes them

    def on_loader_iterate(self, event: Event) -> None:
        self.loader, self.batches, self.losses = id(event.subject), 0, {}

    def on_loader_batch(self, event: Event) -> None:
        if id(event.subject) == self.loader:
            self.batches += 1

    def on_loss(self, event: Event) -> None:
        result, size = getattr(event, "result", None), _samples(event)
        if self.loader is None or not self.batches or torch.is_grad_enabled() or not isinstance(result, torch.Tensor):
            return
        if event.error is None and not result.dim() and size and _is_plain_mean(event) and (place := event.where()) is not None:
            kept = self.losses.setdefault(place, [])
            if len(kept) < _MOST:
                kept.append(_Loss(self.batches, size, result.detach()))

    def on_loader_end(self, event: Event) -> None:
        if id(event.subject) != self.loader:
            return
        (losses, self.losses), self.loader = (self.losses, {}), None
        one = self.watch.passes.current(event.subject)
        if one is None or one.place is None:
            return
        for place, of_it in losses.items():
            sizes = [loss.size for loss in of_it]
            if [loss.batch for loss in of_it] != [*range(1, self.batches + 1)] or not _last_is_smaller(sizes):
                continue
            if place.code.co_filename == one.place.code.co_filename:
                average = average_of(place.code.co_filename, one.place.line, place.line)
                if average is not None:
                    self._compare(event, Where(one.place.code, -1, average.row), average, of_it)

    def _compare(self, event: Event, place: Where, average: Average, losses: list[_Loss]) -> None:
        values = [float(loss.value) for loss in losses]
        sizes = [loss.size for loss in losses]
        told = sum(values) / len(values)
        right = sum(value * size for value, size in zip(values, sizes)) / sum(sizes)
        if not math.isfinite(told) or abs(told - right) < _FAR * abs(right):
            return
        known = self.watch.passes.history(event.subject)
        name = called(known, event.subject) or "loader"
        self.found(
            316, place, call=average.added, loader=name, by=average.by, words=_COUNTED if average.by else _LISTED,
            fact=f"batches of {sizes[0]}, the last of {sizes[-1]}: {told:.5g}, where the mean over all samples is {right:.5g}",
            related=((known.place(None), "the loader is built here"),),
            details={"mean of means": told, "mean": right},
        )


def _samples(event: Event) -> int:
    value = event.target if isinstance(event.target, torch.Tensor) else event.input
    return value.shape[0] if isinstance(value, torch.Tensor) and value.dim() else 0


def _is_plain_mean(event: Event) -> bool:
    """Whether a loss is a mean in which every sample counts as much."""
    given = event.kwargs
    if given.get("reduction", "mean") != "mean" or given.get("weight") is not None or len(event.args) > 2:
        return False
    if "size_average" in given or "reduce" in given:
        if given.get("size_average") is not None or given.get("reduce") is not None:
            return False
    target = event.target
    ignored = given.get("ignore_index", -100)
    if isinstance(target, torch.Tensor) and not target.is_floating_point() and bool((target == ignored).any()):
        return False
    return event.subject != "kl_div"


def _last_is_smaller(sizes: list[int]) -> bool:
    return len(sizes) > 1 and len(set(sizes[:-1])) == 1 and 0 < sizes[-1] < sizes[0]


CHECKS = (MeanOfBatchMeans,)
