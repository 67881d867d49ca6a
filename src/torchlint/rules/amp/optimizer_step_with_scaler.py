"""705: the loss is scaled, and the optimizer steps on the scaled gradients."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.mixed_precision import is_scaler

CODE = 705


def check(view: View) -> Iterator[Report]:
    """`scaler.scale(loss).backward()`, then `optimizer.step()` where `scaler.step(optimizer)` is due; or both of them."""
    told: set[int] = set()
    for event in view.of("backward"):
        scaler = next((part.traits["scaled"] for part in event.parts if isinstance(part, Tensor) and "scaled" in part.traits), None)
        if not is_scaler(scaler) or view.of("scaler.unscale") or id(scaler) in view.run.escaped:
            continue
        for step in _first_steps(event):
            optimizer = _one(step)
            if optimizer is None or step.get("scaler") is not None or not _together(step, event) or id(step) in told:
                continue
            if any(_one(other) is optimizer and other.get("scaler") is not None for other in view.steps()):
                continue
            if view.reaches(event, optimizer):
                told.add(id(step))
                related = [(event.site, "these gradients are scaled")]
                yield Report(CODE, step.site, _roles(view, step, scaler), related)
    for stepped in view.steps():
        scaler, optimizer = stepped.get("scaler"), _one(stepped)
        if not is_scaler(scaler) or optimizer is None:
            continue
        for step in _first_steps(stepped):
            if _one(step) is optimizer and step.get("scaler") is None and _together(step, stepped) and id(step) not in told:
                told.add(id(step))
                related = [(stepped.site, "this has stepped already, or has left the step out because of infinities")]
                yield Report(CODE, step.site, _roles(view, step, scaler), related)


def _first_steps(start: Event) -> list[Event]:
    """The steps that come next, before any other backward."""
    found, _ = after(start, lambda other: other.kind in ("optimizer.step", "backward"))
    return [event for event in found if event.kind == "optimizer.step"]


def _together(step: Event, other: Event) -> bool:
    """Whether a step is made wherever the other event is: no condition of its own stands around it."""
    around = {guard.condition for guard in other.guards}
    return all(guard in other.guards if guard.condition in around else _plain(guard.site.text()) for guard in step.guards)


def _plain(test: str) -> bool:
    """Whether a condition is about the number of the batch, and not about how precise the numbers are."""
    return "%" in test and not any(word in test for word in ("amp", "scaler", "fp16", "half"))


def _one(step: Event):
    optimizers = real(step.subject)
    return optimizers[0] if len(optimizers) == 1 else None


def _roles(view: View, step: Event, scaler) -> dict[str, str]:
    return {"optimizer": view.owner_text(step, "optimizer"), "scaler": getattr(scaler, "name", "") or "scaler"}
