"""922: torch.compile is called again and again."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Iter, real
from torchlint.rules.base import Report, View

CODE = 922
CALLS = frozenset({"torch.compile"})


def check(view: View) -> Iterator[Report]:
    """`torch.compile(...)` in forward, or in the loop that trains."""
    for event in view.of("call"):
        if event.name != "torch.compile":
            continue
        training = [work for work in view.of("backward", "optimizer.step") if event.loops and event.loops[-1] in work.loops]
        if event.site.parsed.unit.name == "forward" or training and not _over_modules(event):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, [(training[0].site, "in the loop of this")] if training else [])


def _over_modules(event) -> bool:
    """Whether the loop goes through the parts of a model, each of which is compiled once."""
    return any(isinstance(alt, Iter) and alt.kind in ("children", "modules", "named_children", "named_modules") for alt in real(event.loops[-1].over))
