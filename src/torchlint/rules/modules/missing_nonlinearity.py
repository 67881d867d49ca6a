"""509: two linear layers with nothing in between."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, Tensor, real
from torchlint.rules.base import Report, View

CODE = 509


def check(view: View) -> Iterator[Report]:
    """`Linear(Linear(x))`."""
    for event in view.of("forward"):
        layer = event.subject
        if not isinstance(layer, Instance) or layer.type != "torch.nn.Linear" or not event.args:
            continue
        alts = real(event.args[0])
        before = alts[0].origin if len(alts) == 1 and isinstance(alts[0], Tensor) else None
        if isinstance(before, Instance) and before.type == "torch.nn.Linear" and before is not layer:
            related = [(before.site, "the layer before it")] if before.site is not None else []
            at = layer.site if layer.site is not None else event.site
            yield Report(CODE, at, {"layer": view.call_text(at)}, related)
