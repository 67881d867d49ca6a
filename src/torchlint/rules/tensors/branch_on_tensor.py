"""419: forward asks for a number before it goes on."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Tensor, real
from torchlint.rules.base import Report, View

CODE = 419


def check(view: View) -> Iterator[Report]:
    """`if x.sum() > 0:` in a module's forward, on a tensor for certain."""
    for event in view.of("decided"):
        alts = real(event.subject)
        if event.site.parsed.unit.name != "forward" or not alts or not all(isinstance(alt, Tensor) for alt in alts):
            continue
        if not any(_on_cpu(alt) for alt in alts):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})


def _on_cpu(value: Tensor) -> bool:
    """Whether a tensor was made here, on the CPU, such as `torch.rand(1) < 0.5`: there is nothing to wait for."""
    made = [part for part in (value, *value.parts) if isinstance(part, Tensor) and part.source == "made"]
    return any(part.traits.get("device") in ("default", "cpu") for part in made) and not value.flows
