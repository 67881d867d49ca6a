"""138: all that an optimizer holds is frozen: its steps change nothing, and what is to learn is in none."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.program.adapters import ADAPTER
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_IDLE, _FIRST = 2, 8  # steps in a row that are too many, and the steps of an optimizer that are looked at


class OnlyFrozen(Check):
    """An optimizer holds frozen parameters alone, and no other one trains anything."""

    numbers = (138,)

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
        if any(other.backwards_in_all for other in self.ledger):
            return
        left = self._trained_by_none()
        if self._is_of_an_adapter(account, left):
            return  # 004 says so, and why
        if left or self.idle[id(account)] >= _IDLE:
            name = name_of(event.subject) or "optimizer"
            fact = f"{len(account.params)} parameters, none with `requires_grad`"
            if left:
                fact += f"; in no optimizer, and with a gradient: {', '.join(left[:3])}{' ...' if len(left) > 3 else ''}"
            self.found(138, event, optimizer=name, call=f"{name}.step()", fact=fact)

    def _is_of_an_adapter(self, account: Any, left: list[str]) -> bool:
        """Whether what should learn is an adapter's: all that has a gradient, or what the frozen model has besides."""
        if left:
            return all(map(ADAPTER.search, left))
        return any(
            ADAPTER.search(name)
            for module in self.watch.modules() if any(id(p) in account.ids for p in module.parameters())
            for name, _ in module.named_parameters()
        )

    def _trained_by_none(self) -> list[str]:
        """The names of parameters that have a gradient, and that no optimizer holds."""
        known = {i for account in self.ledger for i in account.ids}
        found: dict[int, str] = {}
        for module in self.watch.modules():
            owner = name_of(module)
            for name, p in module.named_parameters():
                if p.grad is not None and id(p) not in known:
                    found.setdefault(id(p), f"{owner}.{name}" if owner else name)
        return list(found.values())


CHECKS = (OnlyFrozen,)
