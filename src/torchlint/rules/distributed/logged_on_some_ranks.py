"""823: what is averaged over all processes stands under a condition that they answer differently."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.data_tests import AGREED, asks_data
from torchlint.rules.shared.processes import ONE, OTHERS, before_in_unit

CODE = 823
_GROUPS = frozenset({"group", "**"})
_REDUCES = frozenset("all_reduce all_gather all_gather_into_tensor reduce_scatter reduce_scatter_tensor barrier".split())


def check(view: View) -> Iterator[Report]:
    """`self.log(..., sync_dist=True)` under a condition of the process or of the data; a collective under one of the data."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    for event in view.of("logged"):
        test = next((site for site, holds in event.guards if _of_process(site, holds) or _of_data(site)), None)
        if test is not None and _stands_in(event, test):
            yield _report(view, event, test)
    for event in view.of("collective"):
        if event.name not in _REDUCES or not _GROUPS.isdisjoint(event.kwargs) or len(event.args) > 2:
            continue
        test = next((site for site, _ in event.guards if _of_data(site) and _stands_in(event, site)), None)
        if test is not None and not _met(view, event):
            yield _report(view, event, test)


def _report(view: View, event: Event, test: Site) -> Report:
    return Report(CODE, event.site, {"call": view.call_text(event.site), "test": test.text()},
                  [(test, "not all processes come past this")])


def _of_process(site: Site, holds: bool) -> bool:
    parts = site.text().split(" and ") if holds else [site.text()]
    own = (*parts, *(part.replace("is_global_zero", "is_main_process") for part in parts))
    return any((ONE if holds else OTHERS).match(part.strip()) or (OTHERS if holds else ONE).match(part.strip()) for part in own)


def _of_data(site: Site) -> bool:
    """Whether a condition asks the data, and no process has told the others of it before."""
    return asks_data(site.text()) and not AGREED.search(before_in_unit(site))


def _stands_in(event: Event, test: Site) -> bool:
    return event.site is not None and test.parsed is event.site.parsed


def _met(view: View, event: Event) -> bool:
    """Whether the others may come to the same collective from another place."""
    return any(other.name == event.name and other.site != event.site and other.guards != event.guards for other in view.of("collective"))
