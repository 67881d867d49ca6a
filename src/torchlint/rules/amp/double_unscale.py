"""712: the gradients of one optimizer are unscaled twice between two updates of the scaler."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Event, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.mixed_precision import is_scaler

CODE = 712
_UNSEEN = ("unknown", "called")


def check(view: View) -> Iterator[Report]:
    """`scaler.unscale_(optimizer)` reached again, or reached after `scaler.step(optimizer)`, with no `scaler.update()`."""
    for first in view.of("scaler.unscale"):
        scaler, optimizer = _pair(first)
        if not is_scaler(scaler) or optimizer is None:
            continue
        stops = ("scaler.unscale", "scaler.update")
        found, _ = after(first, lambda event: event.kind in stops or event.kind in _UNSEEN and _handed(event, scaler))
        for second in found:
            if second.kind == "scaler.unscale" and _pair(second) == (scaler, optimizer) and _certain(view, first, second):
                roles = {"call": view.call_text(second.site), "scaler": scaler.name or "scaler"}
                related = [(first.site, "unscaled here")] if second is not first else []
                yield Report(CODE, second.site, roles, related)


def _pair(event: Event):
    """The scaler and the optimizer of a call of unscale_; None for what is not one for certain."""
    scalers, optimizers = real(event.subject), real(event.optimizer)
    return scalers[0] if len(scalers) == 1 else None, optimizers[0] if len(optimizers) == 1 else None


def _handed(event: Event, scaler) -> bool:
    return any(scaler in real(value) for value in (event.subject, *event.args))


def _certain(view: View, first: Event, second: Event) -> bool:
    """Whether the second call comes whenever the first does. In the next round of a loop it does if the update depends on the
    number of the batch, and the call does not."""
    if second is not first:
        return set(second.guards) <= set(first.guards) and not _later_round(first, second)
    updates = [
        event for event in view.of("scaler.update") if first.loops and first.loops[-1] in event.loops and not _of_other_runs(first, event)
    ]
    around = {guard.condition for guard in first.guards}
    return bool(updates) and all(
        any("%" in guard.site.text() and guard.condition not in around for guard in event.guards) for event in updates
    )


def _of_other_runs(first: Event, update: Event) -> bool:
    """Whether an update stands where a setting is another one than at the call, in all rounds of the loop: `if steps > 1: ... else: ...`."""
    loop = first.loops[-1]
    return any(one.excludes(other) for one in first.guards for other in update.guards if loop not in (*one.varies, *other.varies))


def _later_round(first: Event, second: Event) -> bool:
    """Whether the second call stands above the first: then it is reached through another round of a loop."""
    return second.site.parsed is first.site.parsed and second.site.location().row < first.site.location().row
