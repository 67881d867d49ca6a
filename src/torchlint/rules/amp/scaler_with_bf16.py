"""706: a GradScaler beside bfloat16, which needs none."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Ref
from torchlint.rules.base import Report, View
from torchlint.rules.shared.mixed_precision import autocast_of, is_scaler

CODE = 706


def check(view: View) -> Iterator[Report]:
    """`scaler.scale(loss)` of a loss that was computed under `torch.autocast(..., dtype=torch.bfloat16)`."""
    for event in view.of("scaler.scale"):
        if not is_scaler(event.subject) or event.value is None:
            continue
        for forward in event.value.flows:
            made = autocast_of(forward) if forward.kind == "forward" else None
            dtype = made.kwargs.get("dtype", made.args[1] if len(made.args) > 1 else None) if made is not None else None
            if isinstance(dtype, Ref) and dtype.name == "torch.bfloat16":
                yield Report(CODE, event.site, {"scaler": event.subject.name or "scaler"}, [(made.site, "bfloat16 is asked for here")])
                break
