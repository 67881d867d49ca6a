"""404: forward moves data between devices."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import moves

CODE = 404
CALLS = frozenset({".to", ".cuda", ".cpu"})


def check(view: View) -> Iterator[Report]:
    """`mask.to(self.device)`, `x.cuda()`, `x.cpu()` in what forward runs."""
    for event in view.of("method"):
        if not event.in_forward or not moves(event, "to", "cuda", "cpu"):
            continue
        if any(isinstance(alt, Instance) and alt.kind in ("module", "wrapper") for alt in real(event.subject)):
            continue
        yield Report(CODE, event.site, {"call": view.call_text(event.site)})
