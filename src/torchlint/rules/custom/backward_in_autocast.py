"""701: the backward pass runs inside autocast."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance
from torchlint.rules.base import Report, View

CODE = 701


def check(view: View) -> Iterator[Report]:
    """`loss.backward()` in the `with torch.autocast(...)` block that the forward pass needs."""
    for event in view.of("backward"):
        if event.framework is not None:
            continue
        context = next((context for context in reversed(event.contexts) if context.kind == "autocast"), None)
        if context is None or isinstance(context.value, Instance) and _off(context.value):
            continue
        related = [(context.site, "autocast begins here")] if context.site is not None else []
        yield Report(CODE, event.site, {"loss": view.owner_text(event, "loss")}, related)


def _off(made: Instance) -> bool:
    given = made.kwargs.get("enabled", made.args[0] if made.args else None)
    return isinstance(given, Const) and given.value is False
