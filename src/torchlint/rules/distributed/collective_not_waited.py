"""820: an asynchronous transfer that nobody waits for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event, boolean
from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import unit_text

CODE = 820
_ALWAYS = ("isend", "irecv")
_WAITS = re.compile(r"\.wait\(|synchronize\(|barrier\(|is_completed\(")


def check(view: View) -> Iterator[Report]:
    """`dist.irecv(x, 0)` or `dist.all_reduce(x, async_op=True)`, whose handle is dropped."""
    dropped = {id(event.site.node) for event in view.of("discarded") if event.site is not None}
    for event in view.of("collective"):
        if event.name not in _ALWAYS and boolean(event.kwargs.get("async_op")) is not True:
            continue
        if id(event.site.node) not in dropped or _waits(event):
            continue
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "name": event.name})


def _waits(event: Event) -> bool:
    """Whether the function, or what called it, waits in some other way."""
    return any(_WAITS.search(unit_text(site)) for site in (event.site, *event.calls))
