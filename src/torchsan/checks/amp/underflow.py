"""713: most gradient values are below float16's smallest normal, so that backward lost them or kept few of their bits.

Looked at with float16 alone: under autocast with a GradScaler (702 tells where there is none), or with float16
parameters. Gradients at the step are unscaled; times the scale they are what backward computed with.
"""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.course.recorder import FIRST, gap
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account
from torchsan.stream.step_measures import measurable, sample

_SMALLEST = 2.0**-14  # torch.finfo(torch.float16).smallest_normal
_SHARE = 0.5
_LOOKS = 8
_ENOUGH = 2.0**16  # GradScaler's own first scale: who scales by that much has done what can be done


class Underflow(Check):
    """Gradients are too small for float16."""

    numbers = (713,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.next: dict[int, int] = self.ledger.while_alive({})
        self.in_a_row: dict[int, int] = self.ledger.while_alive({})

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        step = account.steps
        if step < self.next.get(id(account), 0) and not self.thorough:
            return
        self.next[id(account)] = step + (1 if step < FIRST else gap(step))
        scaled = account.last.get("scale")
        scale = None if scaled is None else getattr(scaled.subject, "_scale", None)
        held = [grad for p in account.few if (scale is not None or p.dtype is torch.float16) and (grad := p.grad) is not None]
        grads = [grad for grad in held if measurable(grad) and (scale is not None or grad.dtype is torch.float16)]
        if not grads or len({grad.device for grad in grads}) != 1 or event.closure:
            return
        with torch.no_grad():
            values = torch.cat([part.float() for grad in grads if (part := sample(grad)) is not None]).abs()
            factor = torch.ones((), device=values.device) if scale is None else scale.to(values.device).reshape(())
            there = values > 0
            small = there & (values * factor < _SMALLEST)
            counts = torch.stack([small.sum().float(), there.sum().float(), factor.float()])
        backward = account.last.get("backward")
        place, at = event.where(), (scaled or backward)
        where = at.where() if at is not None else place
        self.watch.late.ask(self, counts, lambda values: self._judge(account, values, step, where, place, scaled))

    def _judge(
        self, account: Account, values: list[float], step: int, where: Where | None, place: Where | None,
        scaled: Event | None,
    ) -> None:
        small, there, factor = values
        if there:
            self.watch.series.record("underflow/gradients", step, small / there)
        low = there > 0 and small / there >= _SHARE and factor < _ENOUGH
        self.in_a_row[id(account)] = count = self.in_a_row.get(id(account), 0) + 1 if low else 0
        if count >= _LOOKS:
            self.found(
                713, where, step=step, key=(id(account), "underflow"),
                optimizer=name_of(account.optimizer), scaler=name_of(scaled.subject) if scaled is not None else None,
                fact=f"{small / there:.0%} of the values that are not zero, with a scale of {factor:g}",
                related=((place, "the step that uses them"),),
            )


CHECKS = (Underflow,)
