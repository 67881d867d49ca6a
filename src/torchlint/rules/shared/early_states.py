"""States of optimizers that are taken before the training, when there is nothing in them, and written all along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Loop, Opaque, real
from torchlint.rules.base import View
from torchlint.rules.shared.checkpoints import checkpoints, in_files, kept_in


class Early(NamedTuple):
    """The state of an optimizer, where it is written, and the first step behind it."""

    taken: Opaque
    optimizer: Instance
    written: Event
    step: Event


def taken_too_early(view: View) -> Iterator[Early]:
    """Where a checkpoint that a loop writes has a state that was taken in front of the loop, before the optimizer's first step. What
    `state_dict()` gives then has no entries, and gets none: only those that are there are alive."""
    for event, parts in checkpoints(view):
        if "optimizer" not in parts or not event.loops or not in_files(view, event, r"opt\w*(?:\[[^]]*\]|\(\))?\.load_state_dict\("):
            continue
        for value in (kept_in(view, event) or {}).values():
            kept = real(value)
            taken = kept[0] if len(kept) == 1 else None
            if not isinstance(taken, Opaque) or "optimizer_state" not in taken.tags or not isinstance(taken.origin, Instance) or taken.site is None:
                continue
            step = _first_step(view, taken.origin)
            if step is None or not step.serial > taken.serial or not _in_front_of(taken.site, event.loops[0]) or event.loops[:1] != step.loops[:1]:
                continue
            if not any(load.serial < taken.serial and any(alt is taken.origin for alt in real(load.subject)) for load in view.of("load")):
                yield Early(taken, taken.origin, event, step)


def _first_step(view: View, optimizer: Instance) -> Event | None:
    return min((step for step in view.steps() if any(alt is optimizer for alt in real(step.subject))), key=lambda step: step.serial, default=None)


def _in_front_of(site: Site, loop: Loop) -> bool:
    """Whether a place stands in the function of a loop, before it."""
    return loop.site is not None and site.parsed.unit is loop.site.parsed.unit and site.location().row < loop.site.location().row
