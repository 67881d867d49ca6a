"""103: a second step on the gradients of one backward."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.gradients.gradients_elsewhere import misled
from torchsan.own import torch, weakref
from torchsan.program.naming import name_of
from torchsan.program.shards import local
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_TWICE = 2  # backwards in a row that two steps came after
_WORDS = (
    "`{call}` uses the gradients of `{loss}.backward()` a second time: the same update is made twice",
    "call it once per `backward()`: take one of the two steps away, or make new gradients in between",
)


class _State:
    """The gradients that an optimizer's last step has used."""

    def __init__(self) -> None:
        self.gradient: weakref.ref | None = None  # the first one
        self.version = 0
        self.sample: list[torch.Tensor] = []  # values of some, once a second step was seen
        self.again = False  # since the last backward
        self.times = 0


class SteppedAgain(Check):
    """An optimizer steps twice on the gradients of one backward."""

    numbers = (103,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.states: dict[int, _State] = self.ledger.while_alive({})

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        state = self.states.get(id(account))
        if state is None or event.closure:
            return
        if account.backwards:
            state.times = state.times if state.again else 0
            state.again = False
        elif not state.again and self._unchanged(account, state):
            # Who writes gradients through `.data` leaves no trace but the values, which are known from the second time on.
            if state.times == 0 or (state.sample and _equal(state.sample, _sample(account))):
                state.again, state.times = True, state.times + 1
                if state.times == _TWICE and not misled(self.watch, account):
                    self._say(account, event)

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        state = self.states.get(id(account))
        if state is None:
            state = self.states[id(account)] = _State()
        gradient = next((p.grad for p in account.params if p.grad is not None), None)
        state.gradient = None if gradient is None else weakref.ref(gradient)
        state.version = 0 if gradient is None else gradient._version
        state.sample = _sample(account) if state.times == 1 else []

    def _unchanged(self, account: Account, state: _State) -> bool:
        step, backward = account.number("step"), account.number("backward")
        gradient = next((p.grad for p in account.params if p.grad is not None), None)
        if gradient is None or not 0 < backward < step or account.number("zero_grad") > step:
            return False
        return state.gradient is not None and state.gradient() is gradient and gradient._version == state.version

    def _say(self, account: Account, event: Event) -> None:
        backward = account.last["backward"]
        self.found(
            103,
            event,
            call=f"{name_of(event.subject) or 'optimizer'}.step()",
            loss=name_of(backward.subject) or "loss",
            words=_WORDS,
            fact=f"{_TWICE} times in a row",
            related=((account.last["step"], "the first step"), (backward, "the backward pass that made the gradients")),
        )


def _sample(account: Account) -> list[torch.Tensor]:
    with torch.no_grad():
        graded = [p.grad for p in account.params if p.grad is not None and p.grad.layout is torch.strided]
        return [local(gradient).detach().flatten()[:16].clone() for gradient in graded[:8]]


def _equal(before: list[torch.Tensor], now: list[torch.Tensor]) -> bool:
    return len(before) == len(now) and all(torch.equal(a, b) for a, b in zip(before, now)) and any(bool(a.any()) for a in now)


CHECKS = (SteppedAgain,)
