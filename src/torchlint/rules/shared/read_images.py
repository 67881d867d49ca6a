"""Images that a tensor is made of as they were read, with their dimensions in the order of the file."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.torch_api.images import reader_of
from torchlint.dryrun.values import Event, Opaque, Tensor, Value, real

# What leaves the order of dimensions as it is, and what only puts one in front.
_KEEPS = frozenset("float double half bfloat16 to cuda cpu type clone contiguous div div_ mul mul_ sub sub_ add add_ detach pin_memory clamp requires_grad_".split())
_MADE = frozenset({"from_numpy", "tensor", "as_tensor"})
_IN_FRONT = re.compile(r"\[None(?:,\s*(?:\.\.\.|:))*\]")
_MOST = 12  # steps from the array to the layer


def image_as_read(event: Event) -> Opaque | None:
    """The call that read the image that a layer or a model is given with its channels last; None where that is not certain."""
    alts = real(event.args[0]) if event.get("args") else ()
    return _image(alts[0], written_input(event)) if len(alts) == 1 else None


def _image(given: Value, written: str) -> Opaque | None:
    """The image that a tensor was made of, with its dimensions in the order of the file. `written` is the text of the tensor."""
    value: Value | None = given
    for _ in range(_MOST):
        if not isinstance(value, Tensor) or value.traits.get("layout"):
            return None
        if value.source == "made":
            of = value.traits.get("made_of") or ()
            return reader_of(of[0]) if value.traits.get("made") in _MADE and len(of) == 1 else None
        if value.site is None or not _is_kept(value, written):
            return None
        value = value.origin if value.origin is not None else _newest(value)
    return None


def _is_kept(value: Tensor, written: str) -> bool:
    """Whether a step from one tensor to the next leaves (height, width, channels) as they are."""
    site = value.site
    if site is None:
        return False
    if value.origin is not None and getattr(value.origin, "site", None) is site:  # x[...], which has no place of its own
        place, lines = site.location(), site.parsed.facts.lines
        behind = lines[place.end_row - 1][place.end_column - 1:] if place.end_row and place.end_column else ""
        return bool(_IN_FRONT.match(behind) or _IN_FRONT.fullmatch(written.lstrip("abcdefghijklmnopqrstuvwxyz_0123456789")))
    node = site.node
    if isinstance(node, cst.BinaryOperation):
        return True
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    name = node.func.attr.value
    if name == "unsqueeze":
        return len(node.args) == 1 and isinstance(node.args[0].value, cst.Integer) and node.args[0].value.value == "0"
    return name in _KEEPS


def _newest(value: Value) -> Value | None:
    """The tensor among the operands of an operation."""
    found = [part for part in value.parts if isinstance(part, Tensor)]
    return max(found, key=lambda part: part.serial) if found else None


def written_input(event: Event) -> str:
    node = event.site.node
    given = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    return "" if given is None else event.site.parsed.text(given)
