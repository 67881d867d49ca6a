"""806: a collective that only some of the processes come to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import ONE, OTHERS
from torchlint.sieve.facts import units_of

CODE = 806
# What all processes of a group have to call together.
_COLLECTIVES = frozenset(
    """all_reduce all_gather all_gather_into_tensor all_gather_object reduce broadcast broadcast_object_list barrier reduce_scatter
    reduce_scatter_tensor gather gather_object scatter scatter_object_list all_to_all all_to_all_single""".split()
)


# The same of libraries: of mpi4py and Horovod by their full names, of Accelerate and Fabric by whose method it is.
_BY_NAME = re.compile(
    r"^(?:mpi4py\.MPI\.COMM_WORLD\."
    r"(?:[bB]arrier|[bB]cast|(?:all)?(?:gather|reduce)|All(?:gather|reduce)|Gather|Reduce|[sS]catter|[aA]lltoall)"
    r"|horovod\.torch\.(?:allreduce_?|allgather|alltoall|barrier|broadcast_?|broadcast_(?:parameters|optimizer_state|object))"
    r"|torch_xla\.core\.xla_model\.(?:rendezvous|all_reduce|all_gather|mesh_reduce))$"
)
_METHODS = {
    "Accelerator": frozenset({"gather", "gather_for_metrics", "reduce"}),
    "Fabric": frozenset({"barrier", "all_reduce", "all_gather", "broadcast"}),
}
_OF_ALL = "wait_for_everyone"  # of Accelerate, and of nobody else


def check(view: View) -> Iterator[Report]:
    """`dist.barrier()` under `if rank == 0`, with no call for the other processes to meet it with."""
    together, told = list(_together(view)), set()
    for event in together:
        if "group" in event.get("kwargs", {}) or "**" in event.get("kwargs", {}) or event.kind == "collective" and len(event.args) > 2:
            continue
        guard = _guard(event)
        if guard is None or _met(together, event, guard) or _met_elsewhere(event, guard):
            continue
        roles = {"call": event.name.rpartition(".")[2], "test": guard.text()}
        site = next((call for call in event.calls if call.parsed.unit is guard.parsed.unit), None) or event.site
        if site in told:
            continue
        told.add(site)
        related = [(guard, "only some of the processes come past this")]
        if site is not event.site:
            related.append((event.site, "this is the call that all have to make"))
        yield Report(CODE, site, roles, related)


def _together(view: View) -> Iterator[Event]:
    """The calls that all processes have to make together."""
    yield from (event for event in view.of("collective") if event.name in _COLLECTIVES)
    for event in view.of("unknown"):
        name = event.get("name") or ""
        if _BY_NAME.match(name) or any(name in _METHODS.get(_kind(owner), ()) for owner in real(event.subject)):
            yield event
    yield from (event for event in view.of("discarded") if event.get("name") == _OF_ALL)


def _kind(owner: Value) -> str:
    return owner.type.rpartition(".")[2] if isinstance(owner, Instance) and isinstance(owner.cls, Ref) else ""


def _guard(event: Event) -> Site | None:
    """The condition that lets only one process, or all but one, come to an event."""
    for site, holds in event.get("guards", ()):
        for part in site.text().split(" and ") if holds else [site.text()]:
            if (ONE if holds else OTHERS).match(part.strip()) or (OTHERS if holds else ONE).match(part.strip()):
                return site
    return None


def _met(together: list[Event], event: Event, guard: Site) -> bool:
    """Whether some other call of the same collective may be the others' part: one under a condition that this one does not share.
    What all conditions around it are around this one, too (`if args.distributed`), this process comes to with the others; what the
    same test of the process lets through, too, is made by the same process (`if rank == 0` around a function that asks again)."""
    own = _conditions(event)
    asked = next(((text, holds) for text, holds in own if text == guard.text()), None)
    return any(
        other.name == event.name and (other.site, other.calls) != (event.site, event.calls)
        and not _conditions(other) <= own and asked not in _conditions(other)
        and not (other.calls != event.calls and _met_within(together, other))
        for other in together
    )


def _met_within(together: list[Event], event: Event) -> bool:
    """Whether the function that makes a call has the others' part, too: `if rank == 0: bcast(data) else: data = bcast(None)`."""
    contrary = {(text, not holds) for text, holds in _conditions(event)}
    return any(other.name == event.name and other.calls == event.calls and contrary & _conditions(other) for other in together)


def _conditions(event: Event) -> set[tuple[str, bool]]:
    return {(site.text(), holds) for site, holds in event.get("guards", ())}


def _met_elsewhere(event: Event, guard: Site) -> bool:
    """Whether the collective stands in a helper that others call, too: the other processes may come to it that way."""
    helper, caller = event.site.parsed.unit, guard.parsed.unit
    if helper is caller:
        return False
    return any(helper.name in unit.words for unit in units_of(event.site.parsed.facts) if unit not in (helper, caller))
