"""404: forward moves data between devices."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Instance, real
from torchlint.rules.base import Report, View
from torchlint.rules.dtypes import names_device

CODE = 404
CALLS = frozenset({".to", ".cuda", ".cpu"})


def check(view: View) -> Iterator[Report]:
    """`mask.to(self.device)`, `x.cuda()`, `x.cpu()` in what forward runs."""
    for event in view.of("method"):
        if event.name not in ("to", "cuda", "cpu") or not event.in_forward or not isinstance(event.site.node, cst.Call):
            continue
        if any(isinstance(alt, Instance) and alt.kind in ("module", "wrapper") for alt in real(event.subject)):
            continue
        args = event.site.node.args
        if event.name == "to" and not (args and names_device(args[0])):
            continue
        yield Report(CODE, event.site, {"call": view.call_text(event.site)})
