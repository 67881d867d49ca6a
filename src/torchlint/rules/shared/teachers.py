"""Models that only say what another one is to learn: their output is the target of a loss, and no optimizer has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from torchlint.dryrun.values import Event, Instance, Iter, Tensor, real
from torchlint.rules.base import View

# What follows the model that is trained, and runs as that one does: a moving average, MoCo's keys, a target network.
_FOLLOWS = re.compile(r"ema|moving|average|avg|swa|shadow|momentum|key|_k$|target|polyak|mean_?teacher", re.IGNORECASE)


class Lesson(NamedTuple):
    """A loss that compares a model that learns with a teacher's output."""

    loss: Event
    forward: Event
    teacher: Instance


def lessons(view: View) -> Iterator[Lesson]:
    """Each loss whose target came out of a teacher, whose teacher is seen whole."""
    optimizers = view.optimizers()
    if not optimizers or not all(view.held_by(optimizer)[2] for optimizer in optimizers):
        return
    held = [module for optimizer in optimizers for module in view.held_by(optimizer)[0]]
    for loss in view.of("loss"):
        if loss.target is None or loss.input is None or not _learns(view, loss, held):
            continue
        for forward in loss.target.flows:
            teacher = forward.subject
            if forward.kind != "forward" or forward.get("inside") or not isinstance(teacher, Instance) or teacher.kind != "module":
                continue
            if forward in loss.input.flows or any(view.related_modules(module, teacher) for module in held):
                continue
            if any(value.flows for value in forward.args) or _follows(view, teacher):
                continue
            yield Lesson(loss, forward, teacher)


def _learns(view: View, loss: Event, held: list) -> bool:
    """Whether what is compared came out of a model that an optimizer has."""
    return any(
        flow.kind == "forward" and flow.subject is not None and view.related_modules(flow.subject, module)
        for flow in loss.input.flows for module in held
    )


def _follows(view: View, teacher: Instance) -> bool:
    """Whether a model's numbers are changed while the other one learns, as far as its name or the code tells; or may be."""
    if _FOLLOWS.search(teacher.name) or id(teacher) in view.run.escaped:
        return True
    for event in view.of("inplace", "augment", "setattr"):
        for alt in real(event.subject):
            over = alt.origin if isinstance(alt, Tensor) else None
            if isinstance(over, Tensor):
                over = over.origin
            if isinstance(over, Iter) and over.base is teacher:
                return True
    return any(event.subject is teacher and event.loops for event in view.of("load"))
