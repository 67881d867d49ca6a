"""109: the scheduler steps before the optimizer."""

from __future__ import annotations

import sys
from typing import Any

from torch.optim.lr_scheduler import ReduceLROnPlateau

from torchsan.check import Check
from torchsan.program.callers import accelerated
from torchsan.program.naming import name_of
from torchsan.stream.events import Event


class SchedulerBeforeOptimizer(Check):
    """The learning-rate scheduler steps before the optimizer."""

    numbers = (109,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.early: dict[int, list[Event]] = {}

    def on_scheduler_step(self, event: Event) -> None:
        # A metric or an epoch is passed: such a step does not count from the first one.
        if event.arguments or isinstance(event.subject, ReduceLROnPlateau) or event.optimizer is None:
            return
        account = self.ledger.account(event.optimizer)
        fresh = account.steps == 0 and not account.had_state and not account.optimizer.state
        if fresh or account.backwards:
            self.early.setdefault(id(account), []).append(event)

    def on_backward(self, event: Event) -> None:
        # Gradients pile up over several batches: a scheduler that moves with each of them stands in no wrong order.
        for account in event.reached:
            early = self.early.get(id(account))
            if early and account.backwards > 1:
                self.early.pop(id(account))

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        early = self.early.pop(id(account), [])
        # Several in a row wind a schedule forward to where training goes on.
        if len(early) == 1 and event.number > early[0].number and not self._is_accumulated():
            self.found(
                109,
                early[0],
                scheduler=name_of(early[0].subject),
                optimizer=name_of(event.subject),
                related=((event, "the optimizer's step that should come first"),),
            )

    def _is_accumulated(self) -> bool:
        """Whether Accelerate kept the optimizer from stepping with each batch: that the schedule did is 005."""
        return "accelerate" in sys.modules and self.watch.wants(5) and accelerated()[1] > 1


CHECKS = (SchedulerBeforeOptimizer,)
