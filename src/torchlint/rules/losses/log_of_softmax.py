"""305: the logarithm of a softmax, in two steps."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.rules.base import Report, View

CODE = 305


def check(view: View) -> Iterator[Report]:
    """`torch.log(torch.softmax(x, dim=-1))`."""
    for event in view.of("log"):
        made = event.subject.site
        softmax = event.subject.sites.get("act")
        # What was clamped or picked in between was meant as it stands.
        if softmax is None or made is None or made.node is not softmax.node or not isinstance(softmax.node, cst.Call):
            continue
        related = [(softmax, "the softmax")] if softmax.location().row != event.site.location().row else []
        yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related)
