"""806: a collective that only some of the processes come to."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import ONE, OTHERS
from torchlint.sieve.facts import units_of

CODE = 806
# What all processes of a group have to call together.
_COLLECTIVES = frozenset(
    """all_reduce all_gather all_gather_into_tensor all_gather_object reduce broadcast broadcast_object_list barrier reduce_scatter
    reduce_scatter_tensor gather gather_object scatter scatter_object_list all_to_all all_to_all_single""".split()
)


def check(view: View) -> Iterator[Report]:
    """`dist.barrier()` under `if rank == 0`, with no call for the other processes to meet it with."""
    for event in view.of("collective"):
        if event.name not in _COLLECTIVES or "group" in event.kwargs or "**" in event.kwargs or len(event.args) > 2:
            continue
        guard = _guard(event)
        if guard is None or _met(view, event) or _met_elsewhere(event, guard):
            continue
        yield Report(CODE, event.site, {"call": event.name, "test": guard.text()}, [(guard, "only some of the processes come past this")])


def _guard(event: Event):
    """The condition that lets only one process, or all but one, come to an event."""
    for site, holds in event.guards:
        for part in site.text().split(" and ") if holds else [site.text()]:
            if (ONE if holds else OTHERS).match(part.strip()) or (OTHERS if holds else ONE).match(part.strip()):
                return site
    return None


def _met(view: View, event: Event) -> bool:
    """Whether some other call of the same collective may be the others' part: one under a condition that this one does not share.
    What all conditions around it are around this one, too (`if args.distributed`), this process comes to with the others."""
    own = _conditions(event)
    return any(
        other.name == event.name and (other.site, other.calls) != (event.site, event.calls) and not _conditions(other) <= own
        for other in view.of("collective")
    )


def _conditions(event: Event) -> set[tuple[str, bool]]:
    return {(site.text(), holds) for site, holds in event.guards}


def _met_elsewhere(event: Event, guard: Site) -> bool:
    """Whether the collective stands in a helper that others call, too: the other processes may come to it that way."""
    helper, caller = event.site.parsed.unit, guard.parsed.unit
    if helper is caller:
        return False
    return any(helper.name in unit.words for unit in units_of(event.site.parsed.facts) if unit not in (helper, caller))
