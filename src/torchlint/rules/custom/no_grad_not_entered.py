"""134: a context manager is made and dropped."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance
from torchlint.rules.base import Report, View

CODE = 134

# Not set_grad_enabled: that one acts as soon as it is called.
CONTEXTS = frozenset({"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.amp.autocast"})


def check(view: View) -> Iterator[Report]:
    """`torch.no_grad()` as a statement."""
    for event in view.of("discarded"):
        if isinstance(event.subject, Instance) and event.subject.kind == "context" and event.subject.type in CONTEXTS:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})
