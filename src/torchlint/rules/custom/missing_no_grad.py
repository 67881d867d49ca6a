"""202: an evaluation builds graphs that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import Event
from torchlint.dryrun.values import TRUE, Tensor, real
from torchlint.rules.base import Report, View

CODE = 202
GRADIENT_WORDS = frozenset({"requires_grad_", "grad", "attack", "saliency", "retain_grad", "gradients", "GradCAM", "captum", "autograd"})


def check(view: View) -> Iterator[Report]:
    """An eval-mode forward in a loop, with grad mode on, whose output is only read out; one for each evaluation."""
    told = set()
    for event in view.of("forward"):
        if event.mode is not False or event.grad is not True or not event.loops or event.mode_site is None or event.get("inside"):
            continue
        if event.get("frozen") is TRUE or not read_out(view, event) or _gradient_wanted(view, event):
            continue
        evaluation = (id(event.mode_site.node), event.loops[-1])
        if evaluation in told:
            continue
        told.add(evaluation)
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "model": view.owner_text(event, "model")},
                     [(event.mode_site, "evaluation mode is set here, but gradients are still on")])


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
    unit = event.site.parsed.unit
    return bool(GRADIENT_WORDS & unit.words)
