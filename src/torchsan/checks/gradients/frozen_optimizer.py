"""127, where all that an optimizer holds is frozen: its steps change nothing, whatever the learning rate."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_IDLE, _FIRST = 2, 8  # steps in a row that are too many, and the steps of an optimizer that are looked at
_WORDS = (
    "`{call}` changes nothing: every parameter that `{optimizer}` holds is frozen, and nothing else is trained",
    "give the optimizer the parameters that are to be trained: `[p for p in model.parameters() if p.requires_grad]`",
)


class OnlyFrozen(Check):
    """An optimizer holds frozen parameters alone, and no other one trains anything."""

    numbers = (127,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.idle: dict[int, int] = self.ledger.while_alive({})

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if account.steps >= _FIRST or event.closure:
            return
        if any(p.requires_grad or p.grad is not None for p in account.params):
            self.idle.pop(id(account), None)
            return
        self.idle[id(account)] = self.idle.get(id(account), 0) + 1
        # Where another optimizer has gradients, this one may be waiting for its part to be unfrozen.
        if self.idle[id(account)] >= _IDLE and not any(other.backwards_in_all for other in self.ledger):
            name = name_of(event.subject) or "optimizer"
            self.found(
                127, event, optimizer=name, call=f"{name}.step()", words=_WORDS,
                fact=f"{len(account.params)} parameters, none with `requires_grad`",
            )


CHECKS = (OnlyFrozen,)
