"""139: ReduceLROnPlateau steps without the number that it is to look at."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import NONE, Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.which_scheduler import asks_which, may_be_another

CODE = 139
_PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"


def check(view: View) -> Iterator[Report]:
    """`scheduler.step()` with nothing in the brackets, of what is a ReduceLROnPlateau whichever way the program took, or of one of
    several that it does not tell apart."""
    by_site: dict[tuple[int, int], list[Event]] = {}
    for event in view.of("scheduler.step"):
        if event.site is not None:
            by_site.setdefault((id(event.site.parsed.facts), id(event.site.node)), []).append(event)
    for events in by_site.values():
        event, made = next(((one, found) for one in events if (found := _plateau(one)) is not None), (events[0], None))
        if made is None or any(one.args for one in events) or getattr(event.site.node, "args", ()):
            continue
        if all(_is_plateau(one) for one in events):
            if may_be_another(event, made):
                continue
        elif any(not _is_seen(one) or _tells_apart(one) for one in events):
            continue
        roles = {"scheduler": view.owner_text(event, "scheduler"), "call": view.call_text(event.site)}
        yield Report(CODE, event.site, roles, [(made.site, "it is a ReduceLROnPlateau")] if made.site is not None else [])


def _plateau(event: Event) -> Instance | None:
    return next((alt for alt in real(event.subject) if _is_of_torch(alt) and alt.type == _PLATEAU), None)


def _is_of_torch(value: Value) -> bool:
    return isinstance(value, Instance) and isinstance(value.cls, Ref)


def _is_plateau(event: Event) -> bool:
    return len(real(event.subject)) == 1 and _plateau(event) is not None


def _is_seen(event: Event) -> bool:
    """Whether each of the schedulers that a call may be of is one of torch's that is made in view."""
    return all(alt is NONE or _is_of_torch(alt) and alt.kind == "scheduler" for alt in real(event.subject))


def _tells_apart(event: Event) -> bool:
    """Whether a program with several schedulers to choose from may know at a call which one it has: a condition around it asks more than
    whether there is one, or which round it is, or another call gives a number."""
    func = getattr(event.site.node, "func", None)
    if not isinstance(func, cst.Attribute):
        return True
    owner = event.site.parsed.text(func.value)
    there = re.compile(rf"(?:not\s+)?{re.escape(owner)}(?:\s+is\s+(?:not\s+)?None)?|{re.escape(owner)}\s*!=\s*None")
    if any(not guard.varies and not there.fullmatch(guard.site.text()) or asks_which(guard.site) for guard in event.guards):
        return True
    given = re.compile(rf"\b{re.escape(owner.rpartition('.')[2])}\.step\([^)\s]")
    return any(given.search(line) for line in event.site.parsed.facts.lines)
