"""202: an evaluation builds graphs that nothing uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import Event
from torchlint.dryrun.values import TRUE, Instance, Tensor, real
from torchlint.rules.base import Report, View

CODE = 202
EVALUATION = re.compile(r"(?:^|_)(?:test|eval|evaluate|evaluation|valid|validate|validation|val|predict|prediction|infer|inference)(?:$|_)", re.I)
GRADIENT_WORDS = frozenset({"requires_grad_", "grad", "attack", "saliency", "retain_grad", "gradients", "GradCAM", "captum", "autograd"})


def check(view: View) -> Iterator[Report]:
    """An eval-mode forward in a loop, with grad mode on, whose output is only read out; one for each evaluation."""
    told = set()
    for event in view.of("forward"):
        if event.grad is not True or not event.loops:
            continue
        evaluates = event.mode is False and event.mode_site is not None and not event.get("inside")
        if not evaluates and not _is_evaluation(view, event):
            continue
        if event.get("frozen") is TRUE or not read_out(view, event) or _gradient_wanted(view, event):
            continue
        evaluation = (id(event.mode_site.node) if evaluates else None, event.loops[-1])
        if evaluation in told:
            continue
        told.add(evaluation)
        related = [(event.mode_site, "evaluation mode is set here, but gradients are still on")] if evaluates else []
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "model": view.owner_text(event, "model")}, related)


def _is_evaluation(view: View, event: Event) -> bool:
    """Whether a forward without eval() evaluates all the same: of a model that is trained here, in a function that says so."""
    model, unit = event.subject, event.site.parsed.unit
    if not EVALUATION.search(unit.name) or event.mode is False or not isinstance(model, Instance):
        return False
    within_forward = any(site.parsed.unit.name == "forward" for site in event.calls if site is not None)
    return not within_forward and any(flow.kind == "forward" and flow.subject is model for step in view.of("backward") for flow in step.flows)


def read_out(view: View, event: Event) -> bool:
    """Whether the output ends as numbers, in the same loop, and never in a backward."""
    if any(event in other.flows for other in view.of("backward", "autograd.grad")):
        return False
    if any(event.loops[-1] in other.loops for other in view.of("backward", "optimizer.step")):
        return False
    if any(event in other.subject.flows for other in view.of("return") if other.subject is not None):
        return False
    return any(
        event in alt.flows for other in view.of("readout") if event.loops[-1] in other.loops for alt in real(other.subject)
    )


def _gradient_wanted(view: View, event: Event) -> bool:
    if any(isinstance(alt, Tensor) and alt.traits.get("graph") for value in event.args for alt in real(value)):
        return True
    words = event.site.parsed.unit.words
    # A model that learns within its forward: what it is made of is not known, but its name tells.
    inner = not isinstance(event.subject, Instance) and any(word.lower().startswith(("maml", "meta_", "inner_")) for word in words)
    return inner or bool(GRADIENT_WORDS & words)
