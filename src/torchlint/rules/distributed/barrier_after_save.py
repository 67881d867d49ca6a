"""818: one process saves, the others load before it is done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Const, Event, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import by_rank, one_process

CODE = 818
CALLS = frozenset({"torch.load"})


def check(view: View) -> Iterator[Report]:
    """torch.save under `if rank == 0`, then torch.load of the same file in every process, with no barrier in between."""
    for save in view.of("save"):
        if len(save.args) < 2 or not one_process(save):
            continue

        def stops(event: Event, save=save) -> bool:
            return _may_wait(event) or _loads(event) and _same(save.args[1], event.args[0])

        for event in after(save, stops)[0]:
            if _loads(event) and not by_rank(event) and save.calls[:1] == event.calls[:1]:
                roles = {"path": event.site.parsed.text(event.site.node.args[0].value)}
                yield Report(CODE, event.site, roles, [(save.site, "written by one process here")])


# What takes its time, or says something, and waits for no other process.
_IDLE = re.compile(r"(?:^|\.)(?:sleep|print|info|debug|warning|warn|flush|makedirs|mkdir|perf_counter)$")


def _may_wait(event: Event) -> bool:
    if event.kind == "unknown":
        return not _IDLE.search(event.get("name") or "")
    return event.kind in ("collective", "called")


def _loads(event: Event) -> bool:
    return event.kind == "call" and event.name == "torch.load" and bool(event.args)


def _same(one: Value, other: Value) -> bool:
    """Whether two values are the same path for certain."""
    a, b = real(one), real(other)
    if len(a) != 1 or len(b) != 1:
        return False
    return a[0] is b[0] or isinstance(a[0], Const) and isinstance(b[0], Const) and a[0].value == b[0].value
