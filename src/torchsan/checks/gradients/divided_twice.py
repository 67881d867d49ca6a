"""104 under Accelerate: a loss that the program divides by the length of the accumulation, and `accelerator.backward` once more."""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.checks.gradients.accumulation import divisor_of, size_matters
from torchsan.program.callers import accelerated
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_TWICE = 2  # steps that must show it
_LOOKS = 64  # backwards that are looked at
_WORDS = (
    "`{call}` divides the loss by {every} itself, after the program has: the gradients are {every} times too small",
    "leave out the division by {every}",
)


class DividedTwice(Check):
    """The gradients of an accumulation are divided twice."""

    numbers = (104,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.left = _LOOKS
        self.divided: list[tuple[float, float]] = []  # since the last step: by Accelerate, and by the program
        self.seen = 0

    def before_backward(self, event: Event) -> None:
        if self.left and "accelerate" in sys.modules:
            self.left -= 1
            outer, rest = divisor_of(event.subject)
            self.divided.append((outer, divisor_of(rest)[0]))
            event.where()

    def before_optimizer_step(self, event: Event) -> None:
        divided, self.divided = self.divided, []
        if not divided:
            return
        account = self.ledger.account(event.subject)
        length = accelerated()[1]
        if length < _TWICE or any(pair != (length, length) for pair in divided) or not size_matters(account):
            return
        self.seen += 1
        backward = account.last.get("backward")
        if self.seen == _TWICE and backward is not None:
            self.found(
                104, backward, call="accelerator.backward(...)", loss=name_of(backward.subject) or "loss", every=length,
                fact=f"each loss of this step was divided by {length} two times", related=((event, f"the step, once in {length} batches"),),
                details={"batches": length}, words=_WORDS,
            )


CHECKS = (DividedTwice,)
