"""Whether a tensor is a layer's own output, with nothing done to its numbers since."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.torch_api.layer_shapes import CLASSIFIER, HEADS
from torchlint.dryrun.values import Class, Instance, Opaque, Ref, Tensor, Value, real
from torchlint.rules.base import View

_BOUNDS = frozenset({"clamp", "clamp_", "clip", "clip_", "clamp_min", "clamp_max"})
_RAW = re.compile(
    r"torch\.nn\.(?:Linear|Bilinear|Conv(?:Transpose)?[123]d|BatchNorm[123]d|LayerNorm|GroupNorm)$"
    # Graph layers weigh and add up; none of them normalises what it gives over the classes.
    r"|torch_geometric\.nn\.(?:\w+\.)*(?:Linear|(?:GCN2?|GAT(?:v2)?|SAGE|SG|Cheb|Graph|GIN|TAG|(?:Fast)?RGCN|Transformer|Spline|NN|ClusterGCN)Conv)$"
)
_PASSES = re.compile(r"torch\.nn\.(?:Identity|Flatten|Dropout)$")
_MOST_WITHIN = 3  # what is put together of what is put together
_MOST = 40  # steps back: reshaping, moving, choosing


def certainly_raw(view: View, value: Value, depth: int = 0) -> bool:
    """Whether a tensor is certainly the output of a layer that ends in no activation, or several of them put together."""
    for _ in range(_MOST):
        if isinstance(value, Tensor):
            if "act" in value.traits or value.source not in ("output", "op"):
                return False
        elif type(value) is not Opaque or value.source != "item" and (value.source != "call" or value.name != "output"):
            return False  # an item of what one tensor holds is some of its rows
        if changed(view, value):
            return False
        maker = value.origin
        if isinstance(maker, Instance):
            return _ends_raw(view, maker)
        parts = value.traits.get("put_together") if maker is None and isinstance(value, Tensor) else None
        if parts and depth < _MOST_WITHIN:
            return all(bool(real(part)) and all(certainly_raw(view, alt, depth + 1) for alt in real(part)) for part in parts)
        if not isinstance(maker, Opaque):
            return False
        value = maker
    return False


def untouched_since(view: View, value: Value) -> bool:
    """Whether the numbers that an activation gave are still what it gave."""
    act = value.sites.get("act") if isinstance(value, Tensor) else None
    for _ in range(_MOST):
        if changed(view, value):
            return False
        if act is None or not isinstance(value.origin, Tensor) or value.origin.sites.get("act") is not act:
            return act is not None
        value = value.origin
    return False


def changed(view: View, value: Value) -> bool:
    """Whether a value was cut to a range where it was made, or written to."""
    if isinstance(value, Tensor) and "rewritten" in value.traits or view.about("inplace", value):
        return True
    func = value.site.node.func if value.site is not None and isinstance(value.site.node, cst.Call) else None
    name = func.attr if isinstance(func, cst.Attribute) else func
    return isinstance(name, cst.Name) and name.value in _BOUNDS


def _ends_raw(view: View, module: Instance) -> bool:
    """Whether the last thing that a layer, or a classifier of torchvision, does is to weigh and to add up."""
    if isinstance(module.cls, Class) or not isinstance(module.cls, Ref):
        return False
    if not CLASSIFIER.match(module.type):
        return bool(_RAW.match(module.type))
    heads = [real(view.run.store.get(module, name)) for name in HEADS]
    return all(len(alts) == 1 and _raw_head(view, alts[0]) for alts in heads if alts)


def _raw_head(view: View, head: Value) -> bool:
    for _ in range(_MOST):
        if not isinstance(head, Instance) or not isinstance(head.cls, Ref):
            return False
        if head.type != "torch.nn.Sequential":
            return bool(_RAW.match(head.type))
        items = view.run.store.get(head, "[]")
        if items is None or items.open:
            return False
        layers = [alts[0] for item in items.known if len(alts := real(item)) == 1 and not _passes(alts[0])]
        if not layers or any(len(real(item)) != 1 for item in items.known):
            return False
        head = layers[-1]
    return False


def _passes(layer: Value) -> bool:
    return isinstance(layer, Instance) and isinstance(layer.cls, Ref) and bool(_PASSES.match(layer.type))
