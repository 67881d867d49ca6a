"""139: ReduceLROnPlateau steps without the number that it is to look at."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Ref, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.which_scheduler import may_be_another

CODE = 139
_PLATEAU = "torch.optim.lr_scheduler.ReduceLROnPlateau"


def check(view: View) -> Iterator[Report]:
    """`scheduler.step()` with nothing in the brackets, of what is a ReduceLROnPlateau whichever way the program took."""
    by_site: dict[tuple[int, int], list[Event]] = {}
    for event in view.of("scheduler.step"):
        if event.site is not None:
            by_site.setdefault((id(event.site.parsed.facts), id(event.site.node)), []).append(event)
    for events in by_site.values():
        event, made = events[0], real(events[0].subject)[0] if real(events[0].subject) else None
        if made is None or any(one.args or not _is_plateau(one) for one in events) or getattr(event.site.node, "args", ()):
            continue
        if may_be_another(event, made):
            continue
        roles = {"scheduler": view.owner_text(event, "scheduler"), "call": view.call_text(event.site)}
        yield Report(CODE, event.site, roles, [(made.site, "it is a ReduceLROnPlateau")] if made.site is not None else [])


def _is_plateau(event: Event) -> bool:
    alts = real(event.subject)
    return len(alts) == 1 and isinstance(alts[0], Instance) and isinstance(alts[0].cls, Ref) and alts[0].type == _PLATEAU
