"""102: an accumulation of Accelerate's or a Trainer's whose gradients are cleared before its last batch.

A prepared optimizer's `zero_grad` does nothing until the batch that steps; there it does, and so does a model's with each batch.
A Trainer lets its optimizer clear at once, in whatever `training_step` a program gives it.
"""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.callers import accelerated, batches_of_trainer
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_TWICE = 2  # accumulations in a row that must show it
_WHEN_IT_STEPS = (
    "`{call}` runs at the batch that steps, before its backward: the gradients that `accumulate` has added up are thrown away",
    "move `{call}` after `{optimizer}.step()`",
)
_EACH = (
    "`{call}` throws the gradients of each batch away: only optimizers that the accelerator prepared know that `accumulate` adds them up",
    "call `{optimizer}.zero_grad()` after `{optimizer}.step()` instead",
)
_IN_A_TRAINER = (
    "`{call}` throws away what the batches before have added up: the Trainer steps once in several batches, and clears then by itself",
    "leave it out",
)


class _Cleared:
    """What was lost of the accumulation that is under way."""

    def __init__(self) -> None:
        self.backwards = 0
        self.by: Event | None = None
        self.times = 0


class ClearedAccumulation(Check):
    """Of the batches of an accumulation only the last ones count."""

    numbers = (102,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.states: dict[int, _Cleared] = self.ledger.while_alive({})

    def on_optimizer_zero_grad(self, event: Event) -> None:
        if "accelerate" not in sys.modules:
            return
        for account in self.ledger.touched(event.subject):
            if account.backwards:
                state = self.states.setdefault(id(account), _Cleared())
                state.backwards, state.by = account.backwards, event
                event.where()

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        state = self.states.get(id(account))
        if state is None:
            return
        lost, by = state.backwards, state.by
        state.backwards, state.by = 0, None
        hosted = batches_of_trainer() >= _TWICE
        if by is None or not lost < account.backwards or not hosted and accelerated()[1] < _TWICE:
            state.times = 0
            return
        state.times += 1
        if state.times == _TWICE:
            name = name_of(account.optimizer) or "optimizer"
            own = isinstance(by.subject, torch.optim.Optimizer)
            self.found(
                102,
                by,
                call=f"{name if own else name_of(by.subject) or 'model'}.zero_grad()",
                optimizer=name,
                fact=f"of {account.backwards} backward passes, {lost} are lost",
                related=((event, "the step that has too few gradients"),),
                details={"backwards": account.backwards, "lost": lost},
                words=_IN_A_TRAINER if hosted else _WHEN_IT_STEPS if own else _EACH,
            )


CHECKS = (ClearedAccumulation,)
