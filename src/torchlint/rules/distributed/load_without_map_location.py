"""816: every process loads a checkpoint to the device it was saved from."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import (
    INIT,
    RANK,
    by_rank,
    called_by_rank,
    on_one_machine,
    one_of_several,
    without_own_gpu,
)
from torchlint.rules.shared.read_states import reads_of

CODE = 816
CALLS = frozenset({INIT, "torch.load", "[]="})


def check(view: View) -> Iterator[Report]:
    """torch.load of a model's state with no map_location, in each of several processes."""
    loaded = {id(site.node) for event in view.of("load") for site in reads_of(view, event)}
    for event in view.of("call"):
        if event.name != "torch.load" or id(event.site.node) not in loaded:
            continue
        if len(event.args) > 1 or {"map_location", "**", "*"} & event.kwargs.keys():
            continue
        if RANK.search(event.site.text()):
            continue  # a file for each process
        start = one_of_several(view, event)
        if by_rank(event, start) or called_by_rank(view, event) or without_own_gpu(event):
            continue
        if start is not None and on_one_machine(event.site, start.site) and _together(start, event):
            words = "the run becomes one of several processes here"
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, [(start.site, words)])


def _together(start, event) -> bool:
    """Whether the conditions around the start hold at the load too, or ask just for whether there are several processes."""
    return all(guard in event.guards or RANK.search(guard.site.text()) for guard in start.guards)
