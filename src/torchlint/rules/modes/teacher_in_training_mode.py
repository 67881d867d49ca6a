"""210: a teacher, whose output is only a target, runs in training mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.teachers import lessons

CODE = 210


def check(view: View) -> Iterator[Report]:
    """The teacher has dropout or batch norm, and nothing puts it in evaluation mode."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    for lesson in lessons(view):
        teacher = lesson.teacher
        if lesson.forward.mode is not True or view.mode_dependent(teacher) is not True:
            continue
        if any(view.related_modules(event.subject, teacher) for event in view.of("module.eval", "module.mode") if event.subject is not None):
            continue
        roles = {"model": view.owner_text(lesson.forward, "the teacher")}
        yield Report(CODE, lesson.forward.site, roles, [(lesson.loss.site, "its output is only what this loss compares with")])
