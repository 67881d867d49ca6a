"""Where what a model gives lies: where its weights are, until something moves it."""

from __future__ import annotations

import re
from typing import Any

from torchlint.catalogue.effects import PAIRS
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Opaque, Ref, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.devices import asks_for_gpu, has_parameters, on_gpu, placed_at, weights_at

_MOST_STEPS = 6
_MOST_LAYERS = 16
_OF_PLACES = re.compile(r"device|cpu", re.IGNORECASE)


def placed_of_output(view: View, value: Value) -> tuple[Any, Site | None]:
    """The device of a value and where it comes by it: it was moved, or is what a model gives that was moved."""
    device, site = placed_at(view, value)
    forward = _call_that_gave(view, value) if device is None else None
    return (device, site) if forward is None else weights_at(view, forward)


def _call_that_gave(view: View, value: Value) -> Event | None:
    """The call of a model with weights, which stays where it is put, that a value came out of."""
    if not isinstance(value, Tensor) or "made" in value.traits:
        return None
    forward = value.traits.get("out_of") or value.traits.get("beside")
    kept = forward is not None and not moved_back(view, forward) and has_weights(view, forward.subject)
    return forward if kept else None


def output_on_gpu(view: View, event: Event, value: Value, steps: int = 0) -> Site | None:
    """Where a model, or what it is given, was put on the GPU, if what an event reads came out of it, and is brought back on no way to
    there: what a model with weights gives lies where they lie, and its input. Where that stays on the CPU, the call raises by itself."""
    chain = lying_with(value, computed=True)
    last = chain[-1]
    if not isinstance(last, Tensor) or "device" in last.traits or any(id(part) in view.run.moved for part in chain):
        return None
    forward = _call_that_gave(view, last)
    if forward is None or _asks_where(event) or _asks_where(forward):
        return None
    given = [_put_on_gpu(view, forward, alt, steps) for value in forward.args[:1] for alt in real(value)]
    device, site = weights_at(view, forward)
    if on_gpu(device) and any(given):
        return site
    return given[0] if given and all(given) else None


def _put_on_gpu(view: View, event: Event, value: Value, steps: int) -> Site | None:
    """Where what a model is given was put on the GPU, or what gave it."""
    device, site = placed_at(view, value)
    if device is not None:
        return site if on_gpu(device) else None
    return output_on_gpu(view, event, value, steps + 1) if steps < _MOST_LAYERS else None


def _asks_where(event: Event) -> bool:
    """Whether something happens only on a machine with a GPU, or only on one without."""
    return any(asks_for_gpu(guard) or _OF_PLACES.search(guard.site.text()) for guard in event.guards)


def has_weights(view: View, module: Value, depth: int = 0) -> bool:
    """Whether a module has anything that a move brings to another device."""
    if not isinstance(module, Instance) or depth > 6:
        return True
    if isinstance(module.cls, Ref):
        return not module.type.startswith("torch.nn.") or has_parameters(module) or bool(view.run.children.get(id(module)))
    children = view.run.children.get(id(module), ())
    if any(has_weights(view, child, depth + 1) for child in children):
        return True
    return any(
        event.subject is module
        and any(
            isinstance(alt, Tensor) and (alt.traits.keys() & {"param", "buffer"} or (id(module), event.name) in view.run.buffers)
            for alt in real(event.value)
        )
        for event in view.of("setattr")
    )


def moved_back(view: View, event: Event) -> bool:
    """Whether the model that an event is about is brought to the CPU somewhere."""
    return any(other.subject is event.subject and other.device == "cpu" for other in view.of("module.move"))


def lying_with(value: Value, computed: bool = False) -> list[Value]:
    """A value and what it was computed from, on whose device it lies: a comparison, the places of the largest, and the like. `computed`:
    a sum of these, too, or an average."""
    chain = [value]
    while len(chain) < _MOST_STEPS:
        value = chain[-1]
        known = value.traits if isinstance(value, Tensor) else {}
        if known.keys() & {"device", "out_of", "beside", "made"}:
            break
        before = known.get("cut_of") or known.get("detached") or known.get("compared") or computed and known.get("lies_with") or None
        if before is None and type(value) is Opaque and value.source == "item":
            before = value.origin
        before = pair_of(before) or before
        if not isinstance(before, Opaque) or before is value.origin and type(value) is Opaque:
            break
        chain.append(before)
    return chain


def pair_of(value: Value | None) -> Value | None:
    """What the values and their places were taken from, of torch.max(x, 1)."""
    return value.origin if type(value) is Opaque and value.source == "call" and value.name in PAIRS else None
