"""601, 604: time that a training spends waiting for its loaders. It is measured in any case (the series `time/loader`,
seconds for each batch), and said where it is asked for."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from torchsan.check import Check
from torchsan.checks.data.passes import called
from torchsan.report.printing import code_at
from torchsan.stream.events import Event

_BATCHES = 32  # that are measured before anything is said: the first ones read files for the first time
_SHARE = 0.2  # of a step; for less, nobody starts processes
_STARTS = 3  # passes of a loader that each start its workers


class WaitingTimes(Check):
    """Keeps the times; finds nothing by itself."""

    always = True

    def on_loader_batch(self, event: Event) -> None:
        self.watch.series.record("time/loader", self.ledger.step, event.waited)


class SingleProcess(Check):
    """The model waits while the training process reads a batch."""

    numbers = (601,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.times: WeakKeyDictionary[Any, list] = WeakKeyDictionary()  # by loader: batches, seconds waited, and in all

    def on_loader_batch(self, event: Event) -> None:
        loader = event.subject
        if loader.num_workers or event.loop_time is None:
            return
        times = self.times.setdefault(loader, [0, 0.0, 0.0])
        times[0] += 1
        times[1] += event.waited
        times[2] += event.loop_time
        if times[0] == _BATCHES and times[1] > _SHARE * times[2]:
            self._say(loader, times[1] / times[2])
        elif times[0] == _BATCHES:
            times[:] = [0, 0.0, 0.0]

    def _say(self, loader: Any, share: float) -> None:
        known = self.watch.passes.history(loader)
        if known.ever_trained:
            self.found(
                601,
                known.place(None),
                call=code_at(known.place(None)) or called(known, loader) or "the loader",
                fact=f"{share:.0%} of the time of {_BATCHES} steps",
                details={"share": round(share, 3)},
            )


class WorkersRespawned(Check):
    """The workers of a loader end with each pass, and are started again for the next."""

    numbers = (604,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.times: WeakKeyDictionary[Any, list[float]] = WeakKeyDictionary()

    def on_loader_iterate(self, event: Event) -> None:
        loader = event.subject
        if not loader.num_workers or loader.persistent_workers:
            return
        times = self.times.setdefault(loader, [])
        times.append(event.took)
        if len(times) == _STARTS:
            known = self.watch.passes.history(loader)
            self.found(
                604,
                known.place(event.where()),
                loader=called(known, loader),
                fact=f"{sum(times):.2g} s to start {loader.num_workers} of them {_STARTS} times",
                details={"seconds": round(sum(times), 4)},
                related=((event, "a pass begins here"),),
            )


CHECKS = (WaitingTimes, SingleProcess, WorkersRespawned)
