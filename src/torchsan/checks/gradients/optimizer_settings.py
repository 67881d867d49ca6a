"""124, 125, 133: settings of an optimizer that work, and are seldom the best. Advice, and asked for only."""

from __future__ import annotations

from typing import Any

from torch.nn.parameter import is_lazy

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_LOOKS = 2  # calls of zero_grad that are looked at


class Settings(Check):
    """An optimizer is set up in a way that is seldom meant."""

    numbers = (124, 125, 133)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looks: dict[int, int] = self.ledger.while_alive({})

    def on_optimizer_create(self, event: Event) -> None:
        optimizer = event.subject
        decaying = [group for group in optimizer.param_groups if group.get("weight_decay")]
        if not decaying:
            return
        decays = ", ".join(sorted({f"{float(group['weight_decay']):g}" for group in decaying}))
        if type(optimizer) is torch.optim.Adam and not any(group.get("decoupled_weight_decay") for group in decaying):
            self.found(124, event, optimizer=name_of(optimizer), fact=f"weight_decay={decays}")
        decayed = [p for group in decaying for p in group["params"] if not is_lazy(p)]
        vectors = [p for p in decayed if p.dim() < 2]
        if vectors and len(vectors) < len(decayed):
            self.found(
                125,
                event,
                call=type(optimizer).__name__,
                fact=f"{len(vectors)} of {len(decayed)} parameters have one dimension, weight_decay={decays}",
                details={"vectors": len(vectors), "parameters": len(decayed)},
            )

    def on_optimizer_zero_grad(self, event: Event) -> None:
        for account in self.ledger.touched(event.subject):
            looks = self.looks[id(account)] = self.looks.get(id(account), 0) + 1
            if looks <= _LOOKS:
                kept = [p.grad for p in account.params if p.grad is not None]
                if kept:
                    name = name_of(event.subject) or "optimizer"
                    size = sum(grad.numel() * grad.element_size() for grad in kept if grad.layout is torch.strided)
                    fact = f"{len(kept)} gradients, {size / 1024:.0f} KiB"
                    self.found(133, event, call=f"{name}.zero_grad(set_to_none=False)", fact=fact)


CHECKS = (Settings,)
