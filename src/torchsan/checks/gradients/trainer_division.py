"""104 under transformers' Trainer: a loss of the program's own that it does not divide, or that the program has divided, too.

Where the model's forward takes `num_items_in_batch`, the Trainer leaves the division to who computes the loss.
"""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.checks.gradients.accumulation import MEAN, divisor_of, size_matters
from torchsan.program.callers import batches_of_trainer
from torchsan.stream.events import Event

_TWICE = 2  # steps that must show it
_LOOKS = 64  # backwards that are looked at
_NOT = (
    "this loss is the mean of one batch, and the Trainer divides it by nothing, since the model takes `num_items_in_batch`: a step adds "
    "up {every} of them",
    "sum over the targets and divide by `num_items_in_batch`, which `compute_loss` is given, or set `loss_is_scaled_for_ga = False` "
    "in the class, where the release has it",
)
_BOTH = (
    "this loss is divided by {every} before the Trainer divides it by {every}: the gradients are {every} times too small",
    "leave out the division by {every}: the model does not take `num_items_in_batch`, so the Trainer divides",
)


class TrainerDivision(Check):
    """What a Trainer makes of a loss of the program's own."""

    numbers = (104,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.left = _LOOKS
        self.loss: Event | None = None  # the last that a function gave
        self.means, self.twice = 0, 0  # of this step
        self.seen = 0

    def on_loss(self, event: Event) -> None:
        if self.left and "transformers.trainer" in sys.modules and event.error is None:
            self.loss = event
            event.where()

    def before_backward(self, event: Event) -> None:
        if not self.left or self.loss is None:
            return
        every = batches_of_trainer()
        self.left -= 1
        if every < _TWICE:
            return
        by_accelerate, node = divisor_of(event.subject)
        if by_accelerate != 1:
            return
        first, rest = divisor_of(node)
        self.means += getattr(node, "_saved_reduction", None) == MEAN
        self.twice += first == every and divisor_of(rest)[0] == every

    def before_optimizer_step(self, event: Event) -> None:
        means, twice, self.means, self.twice = self.means, self.twice, 0, 0
        every = batches_of_trainer() if means or twice else 0
        account = self.ledger.account(event.subject)
        if every < _TWICE or account.backwards != every or every not in (means, twice) or not size_matters(account):
            return
        self.seen += 1
        if self.seen == _TWICE and self.loss is not None:
            self.found(
                104, self.loss, call="compute_loss", loss="loss", every=every, fact=f"{every} batches to a step", details={"batches": every},
                words=_NOT if means == every else _BOTH,
            )


CHECKS = (TrainerDivision,)
