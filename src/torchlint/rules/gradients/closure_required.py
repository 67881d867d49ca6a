"""126: an optimizer that evaluates the loss itself steps without a closure."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.alternatives import conditions, exclusive
from torchlint.dryrun.values import Event, Instance, Ref
from torchlint.rules.base import Report, View

CODE = 126


def check(view: View) -> Iterator[Report]:
    """`step()` of an L-BFGS optimizer, with nothing in the brackets."""
    for step in view.steps():
        optimizer = step.subject
        if (
            not isinstance(optimizer, Instance)
            or not isinstance(optimizer.cls, Ref)
            or optimizer.type != "torch.optim.LBFGS"
        ):
            continue
        if _has_closure(step) or not _certain(view, step, optimizer):
            continue
        related = (
            [(optimizer.site, "this optimizer evaluates the loss several times in each step")] if optimizer.site else []
        )
        yield Report(CODE, step.site, {"call": view.call_text(step.site)}, related)


def _has_closure(step: Event) -> bool:
    node = step.site.node
    if step.get("closure") is not None or not isinstance(node, cst.Call):
        return True
    return len(node.args) > (1 if step.get("scaler") is not None else 0)


def _certain(view: View, step: Event, optimizer: Instance) -> bool:
    """Whether no other optimizer can be meant there, nor this one be made under a condition that the step is not
    under."""
    if any(other.site == step.site and not view.surely(other.subject, optimizer) and not exclusive(other.subject, optimizer) for other in view.steps()):
        return False
    return set(conditions(optimizer)) <= {*step.guards, *step.get("choice", ())}
