"""702: float16 gradients that nobody scales."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.mixed_precision import autocast_of, in_half
from torchlint.sieve.facts import FileFacts

CODE = 702
# Somebody scales the loss, or chooses another type, in a way that cannot be followed.
_OTHERS = ("scale", "deepspeed", "accelerat", "fabric", "set_autocast", "bfloat16", "amp_dtype", "apex")

_KNOWS_MORE = re.compile(r"fp16|half|mixed|engine|initialize|prepare|wrap|scal", re.I)  # what makes optimizers that scale for themselves


def check(view: View) -> Iterator[Report]:
    """A forward pass under float16 autocast, whose loss goes backward as it is and is stepped on."""
    for event in view.of("backward"):
        if event.framework is not None or not event.flows or event.grad_on is not True:
            continue
        forward = _in_half(event)
        if forward is None or any(part.traits.get("scaled") for part in event.parts if hasattr(part, "traits")):
            continue
        if _scaled_elsewhere(view, event):
            continue
        step = _stepped(view, event)
        if step is not None:
            made = autocast_of(forward)
            roles = {"loss": view.owner_text(event, "loss"), "optimizer": view.owner_text(step, "optimizer")}
            yield Report(CODE, event.site, roles, [(made.site, "the forward pass computes in float16 here")])


def _in_half(event: Event) -> Event | None:
    """A forward call that the loss came out of and that ran in float16, if all of them that did run in autocast did."""
    found = None
    for forward in event.flows:
        if forward.kind == "forward":
            made = autocast_of(forward)
            if made is not None:
                if not in_half(made):
                    return None
                found = forward
    return found


def _scaled_elsewhere(view: View, event: Event) -> bool:
    if view.of("scaler.scale", "scaler.step", "scaler.unscale"):
        return True
    files = {id(e.site.parsed.facts): e.site.parsed.facts for e in view.run.graph.events if e.site is not None}
    return any(_speaks_of_scaling(facts) for facts in files.values())


def _speaks_of_scaling(facts: FileFacts) -> bool:
    names = {name for name in facts.words if any(word in name.lower() for word in _OTHERS)}
    return bool(names - _left_over(facts, names))


_IMPORTS = re.compile(r"\s*(?:from\s+[\w.]+\s+)?import\b")


def _left_over(facts: FileFacts, names: set[str]) -> set[str]:
    """Scalers that a file imports, and has for nothing: its lines that used them are gone, or comments by now."""
    imported = {name for name in names if name == "GradScaler" and facts.imports.get(name, "").startswith("torch.")}
    if not imported:
        return imported
    rest = "\n".join(line.split("#", 1)[0] for line in facts.lines if not _IMPORTS.match(line))
    return {name for name in imported if not re.search(rf"\b{name}\b", rest)}


def _stepped(view: View, event: Event) -> Event | None:
    """The first step after a backward of one of torch's optimizers, or of one that something out of sight made: what underflows
    does so before it is asked."""
    steps, _ = after(event, lambda other: other.kind == "optimizer.step")
    for step in steps:
        optimizers = real(step.subject)
        if optimizers and all(_plain(optimizer) and view.reaches(event, optimizer) for optimizer in optimizers):
            return step
    return None


def _plain(optimizer: Value) -> bool:
    """Whether an optimizer takes gradients as they are. A class of the project may scale them back."""
    return isinstance(optimizer, Instance) and isinstance(optimizer.cls, Ref) and not _KNOWS_MORE.search(optimizer.type)
