"""138: an optimizer is given frozen parameters alone, and what is to learn is in none."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Ref, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.frozen import frozen_by, switches

CODE = 138


def check(view: View) -> Iterator[Report]:
    """`SGD(model.backbone.parameters())` where the backbone is frozen as a whole, the one optimizer that a backward is for."""
    made = switches(view)
    created = view.of("optimizer.create")
    if not made or not view.of("backward") or not all(_is_torchs(event) for event in created):
        return
    for event in created:
        modules, tensors, complete = view.held_by(event.subject)
        if tensors or not modules or not complete or not _steps(view, event) or view.of("optimizer.add"):
            continue
        frozen = [frozen_by(view, module, made) for module in modules]
        if None in frozen or not view.only_optimizer(event.subject):
            continue
        first = frozen[0]
        assert first is not None
        step = _steps(view, event)[0]
        roles = {"optimizer": event.subject.name or "optimizer", "call": view.call_text(step.site)}
        yield Report(CODE, step.site, roles, [(first.site, "frozen here"), (event.site, "the optimizer is given nothing else")])


def _is_torchs(event: Event) -> bool:
    return isinstance(event.subject, Instance) and isinstance(event.subject.cls, Ref)


def _steps(view: View, created: Event) -> list[Event]:
    return [step for step in view.steps() if real(step.subject) == (created.subject,)]

