"""703: gradients are clipped while they are still scaled."""

from __future__ import annotations

from torchsan.check import Check
from torchsan.own import math
from torchsan.program.naming import name_of
from torchsan.stream.events import Event


class ClipBeforeUnscale(Check):
    """Gradients are clipped while they are still scaled."""

    numbers = (703,)

    def before_clip(self, event: Event) -> None:
        if isinstance(event.limit, (int, float)) and math.isinf(event.limit):
            return  # measures the norm, clips nothing
        for account in self.ledger.of(event.subject):
            scale = account.last.get("scale") if account.backwards else None
            if scale is None or account.number("unscale") >= account.number("backward"):
                continue
            # Changed by hand since the backward: divided by the scale, it may be.
            if not account.changed_since():
                scaler = scale.subject  # None where nobody holds it any more
                self.found(
                    703,
                    event,
                    call=event.call,
                    optimizer=name_of(account.optimizer),
                    scaler=name_of(scaler) if scaler is not None else "",
                    fact="" if scaler is None else f"the loss scale is {scaler.get_scale():g}",
                    related=((scale, "where the loss was scaled"),),
                )


CHECKS = (ClipBeforeUnscale,)
