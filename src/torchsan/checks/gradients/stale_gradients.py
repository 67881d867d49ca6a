"""101: a backward adds to gradients that a step has used already.

Sources: AccumulateGrad writes into an existing `.grad` in place (torch/csrc/autograd/functions/accumulate_grad.h), so a
gradient that was not cleared is the same tensor with a higher version.
"""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.program.shards import local
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_USED, _MIXED = "used", "mixed"
_DOUBTS = 3  # times that a suspicion may prove wrong before it is looked into only now and then


class _State:
    """One optimizer's gradients: by index of the parameter, the gradient, its version, and what it holds: what a step
    has used, or that with a newer gradient added (and the backward that did it)."""

    def __init__(self) -> None:
        self.grads: dict[int, tuple[Any, int, str, Event | None]] = {}
        self.fresh: tuple[list[Any], list[int]] | None = None  # used by the step just made: gradients and versions
        self.wrong = 0

    def use(self, params: list[torch.Tensor]) -> None:
        """A step has used the gradients. Nearly always they are gone when next looked at, so they are only listed."""
        grads = [p.grad for p in params]
        self.fresh = grads, [0 if grad is None else grad._version for grad in grads]

    def keep_unchanged(self, params: list[torch.Tensor]) -> None:
        """Forget the gradients that were replaced or written to since."""
        if self.fresh is not None:
            grads, versions = self.fresh
            self.grads = {
                index: (grad, version, _USED, None)
                for index, (p, grad, version) in enumerate(zip(params, grads, versions))
                if grad is not None and p.grad is grad and grad._version == version
            }
            self.fresh = None
            return
        if not self.grads:
            return
        self.grads = {
            index: entry
            for index, entry in self.grads.items()
            if index < len(params) and params[index].grad is entry[0] and entry[0]._version == entry[1]
        }


class StaleGradients(Check):
    """Gradients of the previous step are never cleared."""

    numbers = (101,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.states: dict[int, _State] = {}
        self.candidates: list[tuple[Account, _State]] = []

    def before_backward(self, event: Event) -> None:
        self.candidates = []
        for account in self.ledger:
            state = self.states.get(id(account))
            if state is None:
                continue
            state.keep_unchanged(account.few)
            if state.grads and not self._all_zero(state):
                self.candidates.append((account, state))

    def on_backward(self, event: Event) -> None:
        for account, state in self.candidates:
            params = account.few  # none where the optimizer died meanwhile, in this thread or another
            for index, (grad, version, _, first) in list(state.grads.items()):
                now = params[index].grad if index < len(params) else None
                if now is grad and grad._version != version:
                    state.grads[index] = (grad, grad._version, _MIXED, first or event)
                elif now is not grad:
                    del state.grads[index]
        self.candidates = []

    def before_forward(self, event: Event) -> None:
        # Gradients that the program has let go of must not be held by us while the next forward needs the memory.
        if not event.depth:
            self._check_point()

    def on_optimizer_create(self, event: Event) -> None:
        self.states.pop(id(self.ledger.account(event.subject)), None)  # of an account that was gone before
        self._let_go()

    def before_clip(self, event: Event) -> None:
        self._check_point()

    def on_clip(self, event: Event) -> None:
        self._restamp()

    def before_scaler_unscale(self, event: Event) -> None:
        self._check_point()

    def on_scaler_unscale(self, event: Event) -> None:
        self._restamp()

    def before_scaler_step(self, event: Event) -> None:
        # A scaler's step unscales inside; where it did not make the step itself, that is all that happened.
        self._check_point()
        self._judge(self.ledger.account(event.optimizer), event)

    def before_optimizer_step(self, event: Event) -> None:
        self._judge(self.ledger.account(event.subject), event)

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if event.closure:
            self._judge(account, event)
        self._used(account)

    def on_scaler_step(self, event: Event) -> None:
        self._used(self.ledger.account(event.optimizer))

    def _used(self, account: Account) -> None:
        state = self.states.get(id(account))
        if state is None:
            state = self.states[id(account)] = _State()
        state.use(account.few)

    def _judge(self, account: Account, event: Event) -> None:
        state = self.states.get(id(account))
        if state is None:
            return
        state.keep_unchanged(account.few)
        if not state.grads:
            return
        stale = [entry for entry in state.grads.values() if entry[2] is _MIXED]
        if stale:
            step, looked, all_of_them = account.last.get("step"), len(account.few), len(account.params)
            self.found(
                101,
                stale[0][3],
                optimizer=name_of(account.optimizer),
                loss=name_of(stale[0][3].subject),
                fact=f"{len(stale)} of {looked} parameters" + ("" if looked == all_of_them else f" looked at, of {all_of_them} in all"),
                related=((step, "the step that used these gradients first"), (event, "the step that uses them again")),
                details={"parameters": len(stale), "of": looked},
            )
            state.grads = {index: entry for index, entry in state.grads.items() if entry[2] is not _MIXED}

    def _check_point(self) -> None:
        if len(self.states) > len(self.ledger.accounts):
            self._let_go()
        for account in self.ledger:
            state = self.states.get(id(account))
            if state is not None:
                state.keep_unchanged(account.few)

    def _let_go(self) -> None:
        """Gradients of optimizers that are gone are not to be held."""
        self.states = {id(a): self.states[id(a)] for a in self.ledger if id(a) in self.states}

    def _restamp(self) -> None:
        """Clipping and unscaling write to gradients and clear nothing."""
        for state in self.states.values():
            if state.fresh is not None:
                state.fresh = state.fresh[0], [0 if grad is None else grad._version for grad in state.fresh[0]]
            state.grads = {i: (g, g._version, kind, first) for i, (g, _, kind, first) in state.grads.items()}

    def _all_zero(self, state: _State) -> bool:
        """`p.grad.data.zero_()` leaves no trace but zeros. Looked into on suspicion only: it waits for the device."""
        if state.wrong >= _DOUBTS:
            return True
        with torch.no_grad():
            for grad, *_ in state.grads.values():
                values = grad.coalesce().values() if grad.is_sparse else local(grad)
                if values.any():
                    return False
        state.wrong += 1
        return True


CHECKS = (StaleGradients,)
