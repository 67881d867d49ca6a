"""112: gradients are clipped where there are none."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import math
from torchsan.program.naming import name_of
from torchsan.stream.events import Event


class ClipOutOfOrder(Check):
    """Gradients are clipped where there are none."""

    numbers = (112,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.empty: dict[int, Event] = {}

    def before_clip(self, event: Event) -> None:
        if isinstance(event.limit, (int, float)) and math.isinf(event.limit):
            return  # measures the norm, clips nothing
        accounts = self.ledger.of(event.subject)
        if any(account.backwards for account in accounts):
            return
        # Fine where no step follows (a batch was skipped): said when one does.
        for account in accounts:
            self.empty[id(account)] = event
            if account.steps and any(p.grad is not None for p in account.params):
                self._late(account, event)

    def _late(self, account: Any, event: Event) -> None:
        self.empty.pop(id(account), None)
        self.found(
            112,
            event,
            call=event.call,
            optimizer=name_of(account.optimizer),
            fact="these gradients have been used already",
            related=((account.last["step"], "the step that used them"),),
        )

    def on_clip(self, event: Event) -> None:
        for account in self.ledger.of(event.subject):
            if account.backwards:
                self.empty.pop(id(account), None)

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        clip = self.empty.pop(id(account), None)
        if clip is not None and account.number("backward") > clip.number and account.number("clip") <= clip.number:
            self.found(
                112,
                clip,
                call=clip.call,
                optimizer=name_of(event.subject),
                fact="no gradient had been computed yet",
                related=((account.last["backward"], "the backward pass that makes them"), (event, "the step")),
            )


CHECKS = (ClipOutOfOrder,)
