"""412: torch.tensor of something that is a tensor already."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Tensor, real
from torchlint.rules.base import Report, View

CODE = 412
CALLS = frozenset({"torch.tensor"})


def check(view: View) -> Iterator[Report]:
    """`torch.tensor(x)` where x is a tensor for certain."""
    for event in view.of("call"):
        if event.name not in CALLS:
            continue
        alts = real(event.args[0] if event.args else event.kwargs.get("data"))
        if alts and all(isinstance(alt, Tensor) for alt in alts):
            node = event.site.node
            given = event.site.parsed.text(node.args[0].value) if isinstance(node, cst.Call) and node.args else "x"
            roles = {"call": view.call_text(event.site), "value": given if len(given) <= 40 else "x"}
            yield Report(CODE, event.site, roles)
