"""814: gradients are averaged over all processes for every micro-batch of a step."""

from __future__ import annotations

from typing import Any

from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from torchsan.check import Check
from torchsan.own import weakref
from torchsan.program.where import Where
from torchsan.stream.events import Event

_STEPS = 3  # steps in a row


class SyncWhileAccumulating(Check):
    """Each micro-batch of a step averages the gradients over all processes."""

    numbers = (814,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.model: weakref.ref | None = None  # whose forward announced an all-reduce to the next backward
        self.places: dict[int, list[Where | None]] = self.ledger.while_alive({})  # by account: the backwards since its last step that had one
        self.steps: dict[int, int] = self.ledger.while_alive({})

    def on_forward(self, event: Event) -> None:
        if event.grad and isinstance(event.subject, DistributedDataParallel):
            self.model = weakref.ref(event.subject) if event.subject.require_backward_grad_sync else None

    def on_backward(self, event: Event) -> None:
        model = None if self.model is None else self.model()
        if model is None or distributed.get_world_size(model.process_group) < 2:
            return
        for account in event.reached or ():
            self.places.setdefault(id(account), []).append(event.where())

    def on_optimizer_step(self, event: Event) -> None:
        if not self.places:
            return
        account = self.ledger.account(event.subject)
        places = self.places.pop(id(account), [])
        # The two losses of a discriminator have a line each.
        several = len(places) > 1 and len(set(places)) == 1
        count = self.steps[id(account)] = self.steps.get(id(account), 0) + 1 if several else 0
        model = None if self.model is None else self.model()
        if count == _STEPS and model is not None and any(id(p) in account.ids for p in model.parameters()):
            fact = f"{len(places)} all-reduces for each of {_STEPS} steps"
            self.found(814, places[0], fact=fact, loss="loss", related=((event, "the step that needs only one"),))


CHECKS = (SyncWhileAccumulating,)
