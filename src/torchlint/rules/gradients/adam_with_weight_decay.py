"""124: Adam with weight decay, where AdamW is meant."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance, boolean, number
from torchlint.rules.base import Report, View

CODE = 124


def check(view: View) -> Iterator[Report]:
    """`Adam(..., weight_decay=0.01)`: the penalty goes through the adaptive scaling."""
    for event in view.of("optimizer.create"):
        made = event.subject
        if not isinstance(made, Instance) or made.type != "torch.optim.Adam":
            continue
        decay = made.arg(4, "weight_decay")
        if decay is None or number(decay) == 0 or isinstance(decay, Const) and number(decay) is None:
            continue
        if boolean(made.kwargs.get("decoupled_weight_decay")) is not True:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})
