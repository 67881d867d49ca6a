"""201: a model that is trained here is evaluated in training mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import Event
from torchlint.dryrun.values import Instance, Opaque, Value
from torchlint.rules.base import Report, View

CODE = 201


def check(view: View) -> Iterator[Report]:
    """A forward with gradients off, in a loop, in training mode for certain."""
    reported: set[int] = set()
    for event in view.of("forward"):
        model = event.subject
        if event.grad is not False or event.mode is not True or not event.loops or id(model) in reported:
            continue
        if not _matters(view, model) or not _trained(view, model) or _inner(view, event):
            continue
        reported.add(id(model))
        related = [(event.mode_site, "training mode was set here")] if event.mode_site is not None else []
        if event.grad_site is not None:
            related.append((event.grad_site, "an evaluation: gradients are off"))
        yield Report(CODE, event.site, {"model": view.owner_text(event, "model")}, related)


def _matters(view: View, model: Value) -> bool:
    known = view.mode_dependent(model)
    if known is not None:
        return known
    # Not known what is in it: that its author calls train() on it says that the mode matters.
    return any(event.subject is model for event in view.of("module.train"))


def _trained(view: View, model: Value) -> bool:
    for backward in view.of("backward"):
        if any(flow.kind == "forward" and flow.subject is model for flow in backward.flows) and view.steps():
            return True
    return False


def _inner(view: View, event: Event) -> bool:
    """Whether the call stands inside another module's forward, or trains by other means."""
    return bool(event.get("inside")) or not isinstance(event.subject, (Instance, Opaque)) or any(
        event in backward.flows for backward in view.of("backward", "autograd.grad")
    )
