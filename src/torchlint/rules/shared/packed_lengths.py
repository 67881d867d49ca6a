"""Lengths on the GPU that are given to `pack_padded_sequence`, which takes them on the CPU alone.

torch 1.7 and later: `'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchlint.catalogue.effects import WAYS_OUT
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Opaque, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.devices import on_gpu
from torchlint.rules.shared.methods import method_of

PACKS = frozenset({"torch.nn.utils.rnn.pack_padded_sequence"})
_FAR = 8
# Methods whose result lies where their tensor does.
_STAY = frozenset(
    "sort topk long int float squeeze unsqueeze view reshape flatten contiguous clone detach index_select gather sum clamp ne eq gt ge lt le"
    " bool flip transpose permute t max min argmax".split()
)


def lengths_on_gpu(view: View) -> Iterator[tuple[Event, Site]]:
    """The calls that are given such lengths on a way that can be gone, and where these were put on the GPU."""
    if not view.admits((1, 7)):
        return
    for event in view.of("call"):
        if event.name not in PACKS or any(arg.star for arg in event.site.node.args) or "is_cuda" in event.site.parsed.unit.words:
            continue
        lengths = _given(event)
        put = (_put_on_gpu(view, alt) for alt in real(lengths)) if lengths is not None else ()
        site = next((site for site in put if site is not None), None)
        if site is not None:
            yield event, site


def packed_by(view: View, value: Value) -> bool:
    """Whether `pack_padded_sequence` is given a value, or what is made of it, for its lengths: it has to be on the CPU then."""
    sought = {id(alt) for alt in real(value)}
    for event in view.of("call"):
        lengths = _given(event) if event.name in PACKS else None
        if lengths is not None and any(_leads_to(alt, sought) for alt in real(lengths)):
            return True
    return False


def _leads_to(value: Value | None, sought: set[int]) -> bool:
    """Whether a value is one of those that are sought, or was read or computed from one."""
    for _ in range(_FAR):
        if id(value) in sought:
            return True
        if not isinstance(value, Opaque):
            return False
        if value.origin is None:
            return any(id(part) in sought for part in value.parts)
        value = value.origin
    return False


def lengths_of(call: cst.Call) -> cst.BaseExpression:
    """What a call packs by, as it is written."""
    named = (arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "lengths")
    return next(named, None) or call.args[1].value


def _given(event: Event) -> Value | None:
    """What a call is given to pack by."""
    return event.args[1] if len(event.args) > 1 else event.kwargs.get("lengths")


def _put_on_gpu(view: View, value: Value | None) -> Site | None:
    """Where a value was put on the GPU, or what it was read or computed from."""
    for _ in range(_FAR):
        if not isinstance(value, Opaque):
            return None
        device, site = _device(view, value)
        if device is not None:
            return site if on_gpu(device) else None
        if value.origin is None:
            return _parts_put_on_gpu(view, value)
        if not _stays(value):
            return None
        value = value.origin
    return None


def _parts_put_on_gpu(view: View, value: Opaque) -> Site | None:
    """The same of `lengths - 1` and `torch.sort(lengths)`, if nothing that went into it was brought back."""
    node = value.site.node if value.site is not None else None
    if not isinstance(node, cst.BinaryOperation) and not (isinstance(node, cst.Call) and method_of(value) == "sort"):
        return None
    parts = [part for part in value.parts if isinstance(part, Opaque)]
    placed = [_device(view, part) for part in parts]
    if any(method_of(part) in WAYS_OUT for part in parts) or any(device is not None and not on_gpu(device) for device, _ in placed):
        return None
    return next((site for device, site in placed if device is not None), None)


def _device(view: View, value: Opaque) -> tuple[Any, Site | None]:
    if isinstance(value, Tensor) and "device" in value.traits:
        return value.traits["device"], value.sites.get("device")
    return view.run.moved.get(id(value), (None, None))


def _stays(value: Opaque) -> bool:
    return value.source == "item" or value.source == "attr" and value.name == "data" or method_of(value) in _STAY
