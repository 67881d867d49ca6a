"""821: how many samples a step is made of: all batches since the step before, on all ranks. A figure for the report,
beside the learning rate that goes with it, and no finding."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.course.recorder import _OPTIMIZER, _called
from torchsan.checks.data.passes import Pass
from torchsan.stream.ledger import Account


class BatchSizes(Check):
    """Keeps the number of samples of a step, by optimizer, whenever there are more than in any step before."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.since: dict[int, tuple[int, int]] = self.ledger.while_alive({})  # by account: its steps so far, samples since the last one
        self.most: dict[int, int] = self.ledger.while_alive({})
        watch.passes.at_trained.append(self._trained)

    def _trained(self, one: Pass) -> None:
        # Not at the step itself: a tiny model's step has no time for one more listener.
        size = getattr(one.loader, "batch_size", None) or getattr(one.loader.batch_sampler, "batch_size", None)
        for account in self.ledger if isinstance(size, int) else ():
            steps, samples = self.since.get(id(account), (0, 0))
            if steps != account.steps:
                self._keep(account, samples)
                samples = 0
            self.since[id(account)] = account.steps, samples + size

    def _keep(self, account: Account, samples: int) -> None:
        if samples > self.most.get(id(account), 0):
            self.most[id(account)] = samples
            world = 1 if self.watch.me is None else self.watch.me.world
            step = account.last.get("step")
            place = None if step is None else step._where  # where somebody asked for it at the time
            name = place and _called(place, _OPTIMIZER) or "optimizer"
            self.watch.series.record(f"samples/{name}", account.steps - 1, samples * world)


CHECKS = (BatchSizes,)
