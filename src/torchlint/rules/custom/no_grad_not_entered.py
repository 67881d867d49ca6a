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
        made = event.subject
        # Made by this very call: `stack.enter_context(torch.no_grad())` gives back one that it has entered.
        here = isinstance(made, Instance) and made.site is not None and made.site.node is event.site.node
        if here and made.kind == "context" and made.type in CONTEXTS:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})
