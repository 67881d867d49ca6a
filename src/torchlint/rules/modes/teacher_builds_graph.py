"""211: a teacher, whose output is only a target, builds a graph that backward goes through for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import TRUE, Tensor, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.frozen import switches
from torchlint.rules.shared.teachers import lessons

CODE = 211


def check(view: View) -> Iterator[Report]:
    """The teacher runs with gradients on, its parameters require them, and its output reaches the loss undetached."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    made = switches(view)
    for lesson in lessons(view):
        forward = lesson.forward
        if forward.grad is not True or forward.get("frozen") is TRUE or forward not in lesson.loss.target.flows:
            continue
        if any(view.related_modules(switch.module, lesson.teacher) for switch in made) or not view.may_learn(lesson.teacher):
            continue
        if any(isinstance(alt, Tensor) and alt.traits.get("graph") is False for alt in real(lesson.loss.target)):
            continue
        if not any(lesson.loss.target.flows <= backward.flows for backward in view.of("backward")):
            continue
        roles = {"model": view.owner_text(forward, "the teacher")}
        yield Report(CODE, forward.site, roles, [(lesson.loss.site, "its output is only what this loss compares with")])
