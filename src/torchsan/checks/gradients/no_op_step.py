"""127: a step that leaves the parameters as they were, although their gradients are not zero."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.program.shards import local
from torchsan.stream.events import Event, rest
from torchsan.stream.ledger import Account

_LOST = (
    "`{call}` changes nothing: every update is too small for the dtype of the parameters, and rounded away",
    "keep the parameters in float32 and use `torch.autocast`, or raise the learning rate",
)
_HELD_AT_ZERO = (
    "the learning rate is set to 0 while it trains, so `{call}` changes nothing",
    "look at what sets it: a scheduler whose factor is 0 (an integer division?), or a line that writes to `lr`",
)
_DECAYED = (
    "`{call}` changes nothing: its schedule has brought the learning rate down to next to nothing",
    "let the decay be as long as the training, or step the schedule once per epoch",
)
_NOTHING = 1e-6  # of the rate that a schedule began with
# Schedules that multiply the rate which the optimizer was made with: nothing becomes of zero.
_MULTIPLY = frozenset((
    "ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiplicativeLR", "MultiStepLR", "PolynomialLR", "StepLR",
))


class NoOpStep(Check):
    """A step leaves the parameters as they were, although their gradients are not zero."""

    numbers = (127,)

    _FIRST, _EVERY, _IN_A_ROW, _MOVES = 4, 64, 2, 2

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.never: set[int] = self.ledger.while_alive(set())  # accounts whose schedule multiplies zero
        self.taken: dict[int, tuple[list[tuple[torch.Tensor, torch.Tensor]], bool]] = self.ledger.while_alive({})
        self.idle: dict[int, int] = self.ledger.while_alive({})
        self.made_with_zero: dict[int, Event] = {}  # optimizers
        self.moving: set[int] = self.ledger.while_alive(set())  # accounts whose learning rate was above zero
        self.scheduled: dict[int, tuple[int, int]] = {}  # the scheduler's last step at zero, and how many there were

    def on_optimizer_create(self, event: Event) -> None:
        self.made_with_zero.pop(id(event.subject), None)
        if not any(_positive(group.get("lr", 1)) for group in event.subject.param_groups):
            event.where()
            self.made_with_zero[id(event.subject)] = event

    def on_scheduler_create(self, event: Event) -> None:
        kind = type(event.subject)
        groups = getattr(event.optimizer, "param_groups", ())
        if kind.__module__ == "torch.optim.lr_scheduler" and kind.__name__ in _MULTIPLY:
            if groups and not any(_positive(group.get("initial_lr", 1)) for group in groups):
                self.never.add(id(self.ledger.account(event.optimizer)))
                return
        if groups:
            self.never.discard(id(self.ledger.account(event.optimizer)))

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        rest.hear_again(self._EVERY - account.steps % self._EVERY if account.steps % self._EVERY else 1)
        if account.steps >= self._FIRST and account.steps % self._EVERY > 1 and not self.thorough:
            return
        optimizer = event.subject
        if event.closure or getattr(optimizer, "found_inf", None) is not None or not account.reached:
            return
        waits = self._waits(account, optimizer)
        with torch.no_grad():
            pairs = []
            for parameter in _from_both_ends(account.params):
                grad = parameter.grad
                if grad is None or grad.layout != torch.strided or not type(grad).__module__.startswith("torch"):
                    continue
                if bool(local(grad).flatten()[:64].any()):
                    pairs.append((parameter, local(parameter).detach().flatten()[:64].clone()))
                if len(pairs) == 4:
                    break
            if pairs:
                self.taken[id(account)] = pairs, waits

    def _waits(self, account: Account, optimizer: Any) -> bool:
        """Whether a schedule holds the learning rate at zero: one that warms up from there, or ends there. One that
        has moved on more than once, and never gave anything else, does neither."""
        rates = [group.get("lr", 1) for group in optimizer.param_groups]
        if all(map(_positive, rates)):
            self.moving.add(id(account))
            return False
        if id(account) in self.never or not any("initial_lr" in group for group in optimizer.param_groups):
            return False
        if id(account) in self.moving or any(map(_positive, rates)):
            return True
        scheduled = account.number("scheduler.step")
        if scheduled > self.scheduled.get(id(account), (0, 0))[0]:
            self.scheduled[id(account)] = scheduled, self.scheduled.get(id(account), (0, 0))[1] + 1
        return self.scheduled.get(id(account), (0, 0))[1] < self._MOVES

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        pairs, waits = self.taken.pop(id(account), ((), False))
        if not pairs:
            return
        with torch.no_grad():
            changed = any(not torch.equal(before, local(parameter).detach().flatten()[:64]) for parameter, before in pairs)
        self.idle[id(account)] = 0 if changed else self.idle.get(id(account), 0) + 1
        if self.idle[id(account)] >= self._IN_A_ROW and not waits:
            self._say(event, [parameter for parameter, _ in pairs])

    def _say(self, event: Event, parameters: list[torch.Tensor]) -> None:
        if any(finding.number == 111 for finding in self.watch.findings):
            return  # what has brought the rate down is told
        optimizer = event.subject
        rates = sorted({float(group["lr"]) for group in optimizer.param_groups if "lr" in group})
        dtypes = sorted({str(parameter.dtype).removeprefix("torch.") for parameter in parameters})
        made = self.made_with_zero.get(id(optimizer))
        name = name_of(optimizer) or "optimizer"
        zero = not any(rates)
        self.found(
            127,
            made if zero and made is not None else event,
            key=("zero", made.where()) if zero and made is not None else None,
            optimizer=name,
            call=f"{name}.step()",
            value=rates[0] if rates else "?",
            fact=f"learning rate {', '.join(f'{rate:g}' for rate in rates)}, parameters in {', '.join(dtypes)}",
            related=((event, "the step that changes nothing"),) if zero and made is not None else (),
            details={"lr": rates, "dtypes": dtypes},
            words=_DECAYED if _has_decayed(optimizer) else _LOST if not zero else None if made is not None else _HELD_AT_ZERO,
        )


def _from_both_ends(params: list[torch.Tensor]) -> list[torch.Tensor]:
    """The first, the last, the second ...: the first layers alone may get next to nothing while the last ones learn."""
    half = (len(params) + 1) // 2
    return [p for pair in zip(params[:half], reversed(params)) for p in pair]


def _has_decayed(optimizer: Any) -> bool:
    return all(0 < group.get("lr", 1) <= _NOTHING * group.get("initial_lr", 0) for group in optimizer.param_groups)


def _positive(rate: Any) -> bool:
    return float(rate) > 0


CHECKS = (NoOpStep,)
