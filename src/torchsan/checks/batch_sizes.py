"""821: how many samples a step is made of: all batches since the step before, on all ranks. A figure for the report,
beside the learning rate that goes with it, and no finding."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks._passes import Pass
from torchsan.checks.recorder import _called, _OPTIMIZER
from torchsan.events import Event


class BatchSizes(Check):
    """Keeps the number of samples of a step, by optimizer, whenever there are more than in any step before."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.since: dict[int, int] = {}  # by account: samples since its last step, on this rank
        self.most: dict[int, int] = {}
        watch.passes.at_trained.append(self._trained)

    def _trained(self, one: Pass) -> None:
        size = getattr(one.loader, "batch_size", None) or getattr(one.loader.batch_sampler, "batch_size", None)
        for account in self.ledger if isinstance(size, int) else ():
            self.since[id(account)] = self.since.get(id(account), 0) + size

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        samples = self.since.pop(id(account), 0)
        if samples > self.most.get(id(account), 0):
            self.most[id(account)] = samples
            world = 1 if self.watch.me is None else self.watch.me.world
            place = event.where()
            name = place and _called(place, _OPTIMIZER) or "optimizer"
            self.watch.series.record(f"samples/{name}", account.steps - 1, samples * world)


CHECKS = (BatchSizes,)
