"""102: gradients are cleared for each batch, and the step comes only every so many batches."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import every_so_often, only_gradients

CODE = 102


def check(view: View) -> Iterator[Report]:
    """`zero_grad(); loss.backward(); if i % k == 0: step()`: of k batches, one counts. (The other orders of the three
    are judged by the page's own form.)"""
    for step in view.steps():
        optimizer = step.subject
        if not step.loops or step.get("closure") is not None or not isinstance(optimizer, (Instance, Opaque)):
            continue
        if isinstance(optimizer, Opaque) and not view.only_optimizer(optimizer):
            continue
        for backward in view.of("backward"):
            if (
                backward.loops != step.loops
                or backward.get("framework") is not None
                or view.reaches(backward, optimizer) is not True
            ):
                continue
            if (
                every_so_often(step, backward) is None
                or not only_gradients(view, step, backward)
                or "retain_graph" in backward.get("kwargs", {})
            ):
                continue
            clears = [
                event
                for event in view.of("optimizer.zero_grad")
                if event.loops == step.loops and _clears(view, event, optimizer)
            ]
            clears = [event for event in clears if set(event.guards) <= set(backward.guards)]
            if clears:
                roles = {
                    "call": view.call_text(clears[0].site),
                    "loss": view.owner_text(backward, "loss"),
                    "optimizer": (
                        view.owner_text(step, "optimizer")
                        if step.get("scaler") is None
                        else optimizer.name or "optimizer"
                    ),
                }
                yield Report(
                    CODE,
                    clears[0].site,
                    roles,
                    [
                        (backward.site, "the gradients are computed for each batch"),
                        (step.site, "and would be used here, every so many batches"),
                    ],
                )
                break


def _clears(view: View, event: Event, optimizer: Value) -> bool:
    """Whether an event clears all gradients of an optimizer for certain."""
    subjects = real(event.subject)
    return len(subjects) == 1 and (
        subjects[0] is optimizer or any(subjects[0] is module for module in view.held_by(optimizer)[0])
    )
