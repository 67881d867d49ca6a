"""Loops that train and evaluate, one after the other: `for split in ["train", "val"]`, a function that is called for both."""

from __future__ import annotations

import re

from torchlint.dryrun.guards import Guard
from torchlint.dryrun.values import Event, real
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import is_model
from torchlint.rules.shared.readouts import comes_from, raises_with_graph

_PHASE = re.compile(
    r"[\"'](?:train|trn|val|valid|test|eval|dev)(?:ing|idation|uation)?(?:_?set)?[\"']|^(?:self\.)?(?:is_?|do_?)?train(?:ing)?$", re.I
)


def measures_where_another_trains(view: View, event: Event) -> bool:
    """Whether a forward stands in a loop that goes backward in itself in another pass, from this same forward, and never in this
    one: what tells the two apart is known here (`if split == "train": loss.backward()`)."""
    loop = event.loops[-1] if event.loops else None
    if loop is None or loop.site is None or not is_model(event.subject):
        return False
    steps = view.of("backward")
    if any(loop in step.loops or event in step.flows for step in steps):
        return False
    return any(
        step.loops and step.loops[-1].site == loop.site
        and any(flow.site == event.site and flow.loops and flow.loops[-1] is step.loops[-1] for flow in step.flows)
        for step in steps
    )


def trains_in_some_turns(view: View, event: Event) -> bool:
    """Whether a forward stands in a loop that goes backward in some turns of the loop around it alone, by what these are called, and
    whose numbers are read in all of them: `for split, loader in loaders.items()` with an `if split == "train":` in it."""
    if len(event.loops) < 2 or not is_model(event.subject):
        return False
    steps = [step for step in view.of("backward", "autograd.grad") if event.loops[-1] in step.loops]
    learns = [step for step in steps if event in step.flows and step.loops[-1] is event.loops[-1]]
    told = [guard for step in learns[:1] for guard in step.guards if guard not in event.guards and _tells_phases(guard, event)]
    if not told or any(told[0] not in step.guards for step in steps) or raises_with_graph(view, event):
        return False
    return any(
        told[0] not in other.guards and any(comes_from(event, alt) for alt in real(other.subject)) for other in view.of("readout")
        if event.loops[-1] in other.loops
    )


def _tells_phases(guard: Guard, event: Event) -> bool:
    """Whether a condition is the same in all turns of a forward's loop, may be another one in the next of the loop around it, and
    asks for the name of a phase."""
    around = set(event.loops[:-1])
    return bool(guard.varies) and around.issuperset(guard.varies) and bool(_PHASE.search(guard.condition[0]))
