"""127: the learning rate is zero, and nothing ever raises it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, Iter, Ref, number, real
from torchlint.rules.base import Report, View

CODE = 127
# These multiply the learning rate that the optimizer was made with: nothing times anything.
_MULTIPLY = (
    "StepLR",
    "MultiStepLR",
    "ExponentialLR",
    "LambdaLR",
    "MultiplicativeLR",
    "LinearLR",
    "ConstantLR",
    "PolynomialLR",
)


def check(view: View) -> Iterator[Report]:
    """`SGD(model.parameters(), lr=0)` that steps."""
    for created in view.of("optimizer.create"):
        optimizer = created.subject
        if (
            not isinstance(optimizer, Instance)
            or not isinstance(optimizer.cls, Ref)
            or number(optimizer.arg(1, "lr")) != 0
        ):
            continue
        if (
            not isinstance(created.params, Iter)
            or created.params.kind != "parameters"
            or _may_be_raised(view, optimizer)
        ):
            continue
        for step in view.steps():
            if real(step.subject) == (optimizer,):
                roles = {"optimizer": view.owner_text(step, "optimizer"), "call": view.call_text(step.site)}
                yield Report(CODE, created.site, roles, [(step.site, "this step changes no parameter")])
                break


def _may_be_raised(view: View, optimizer: Instance) -> bool:
    """Whether somebody else may set the learning rate: a scheduler, the program, or code that cannot be seen."""
    if id(optimizer) in view.run.escaped:
        return True
    for event in view.of("scheduler.create"):
        if optimizer in real(event.optimizer) and not event.subject.type.endswith(_MULTIPLY):
            return True
    for event in view.of("unknown", "called", "return", "load", "setattr"):
        values = (event.subject, event.get("value"), *event.get("args", ()))
        if any(optimizer in real(value) for value in values):
            return True
    files = {
        id(event.site.parsed.facts): event.site.parsed.facts
        for event in view.run.graph.events
        if event.site is not None
    }
    return any("param_groups" in facts.words for facts in files.values())
