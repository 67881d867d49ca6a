"""008: predictions of several processes, with the samples that filled up the last round.

Accelerate's own state says, at each `gather`, whether the loader is at its end and how many samples of this round are new. Where
the program's file cuts anything off itself, nothing is said, as from source.
"""

from __future__ import annotations

import sys
from typing import Any

from torchlint.catalogue.protocols import CUTS_DUPLICATES, PREDICTIONS
from torchsan.check import Check
from torchsan.own import linecache
from torchsan.program.callers import library_frame
from torchsan.program.layers import tensors
from torchsan.program.naming import find
from torchsan.program.where import Where
from torchsan.stream.events import Event


class MetricsWithDuplicates(Check):
    """Samples count twice in what is gathered for a metric."""

    numbers = (8,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.trains = True  # the model that ran last was in training mode

    def before_forward(self, event: Event) -> None:
        if not event.depth:
            self.trains = bool(event.training)

    def before_collective(self, event: Event) -> None:
        if self.trains or "accelerate.accelerator" not in sys.modules or not str(event.subject).startswith("all_gather"):
            return
        frame = library_frame("accelerate.accelerator")
        if frame is None or frame.f_code.co_name != "gather" or _is_for_metrics(frame):
            return
        state = getattr(frame.f_locals.get("self"), "gradient_state", None)
        new = getattr(state, "remainder", -1)
        place = event.where()
        if place is None or not getattr(state, "end_of_dataloader", False) or type(new) is not int or new <= 0:
            return
        rows = next((t.shape[0] for t in tensors(frame.f_locals.get("tensor")) if t.dim()), 0)
        every = rows * int(getattr(state, "num_processes", 0) or getattr(frame.f_locals["self"], "num_processes", 1))
        if every > new and _keeps_them(place):
            owner = _owner(frame.f_locals["self"])
            fact = f"the last round has {new} new samples, and {every} rows come together"
            self.found(8, place, call=f"{owner}.gather(...)", owner=owner, fact=fact)


def _is_for_metrics(frame: Any) -> bool:
    """Whether it is `gather_for_metrics` that gathers, and cuts off what is too much."""
    at = frame.f_back
    return at is not None and at.f_code.co_name == "gather_for_metrics"


def _keeps_them(place: Where) -> bool:
    """Whether these are predictions by their names, and nothing in their file cuts off a part."""
    at = place.location()
    lines = linecache.getlines(at.filename)
    written = "".join(lines[at.row - 1 : max(at.end_row or at.row, at.row)])
    return bool(PREDICTIONS.search(written)) and not CUTS_DUPLICATES.search("".join(lines))


def _owner(accelerator: Any) -> str:
    return find(lambda value: value is accelerator) or "accelerator"


CHECKS = (MetricsWithDuplicates,)
