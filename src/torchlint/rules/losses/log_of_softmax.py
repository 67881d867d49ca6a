"""305: the logarithm of a softmax, in two steps."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Opaque, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.operands import operand

CODE = 305
CALLS = frozenset({"torch.log", ".log"})
# What puts the same values elsewhere, or picks some of them. Not what keeps them off zero: that was meant as it stands.
_SAME_VALUES = frozenset(
    """view reshape squeeze unsqueeze flatten unflatten transpose permute t swapaxes movedim contiguous gather index_select masked_select
    take_along_dim narrow select expand expand_as repeat clone to cuda cpu float""".split()
)
_PICKED = re.compile(r"\[[^\[\]]*[<>!]")  # `p[p > 0].log()`: there is no 0 among these
_PUT_TOGETHER = frozenset({"cat", "stack", "hstack", "vstack", "concat"})
_FAR = 12
_MOST = 4  # values of which one is meant, or items of a list, each of which has to be a softmax


def check(view: View) -> Iterator[Report]:
    """`torch.log(torch.softmax(x, dim=-1))`."""
    told: set[int] = set()
    for event in view.of("log", "call", "method"):
        of = event.subject if event.kind == "log" else operand(event, ("torch.log",), "log")
        softmax = None if id(event.site.node) in told else _softmax_of(view, of)
        if softmax is None or not isinstance(softmax.node, (cst.Call, cst.BinaryOperation)) or _PICKED.search(view.call_text(event.site)):
            continue
        told.add(id(event.site.node))
        related = [(softmax, "the softmax")] if softmax.location().row != event.site.location().row else []
        yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related)


def _softmax_of(view: View, value: Value | None, left: int = _FAR) -> Site | None:
    """The softmax that gave a value, whichever of several it is, or what a part of it was picked out of."""
    alts = real(value) if value is not None else ()
    found = [_softmax_of_one(view, alt, left) for alt in alts] if len(alts) <= _MOST else []
    return found[0] if found and None not in found else None


def _softmax_of_one(view: View, value: Value | None, left: int) -> Site | None:
    while left and isinstance(value, Opaque):
        left -= 1
        act = value.sites.get("act") if isinstance(value, Tensor) else None
        node = value.site.node if value.site is not None else None
        if act is not None and act.node is node:
            return act if value.traits.get("act") == "softmax" else None
        name = _called(node)
        if name in _PUT_TOGETHER and isinstance(value, Tensor) and "put_together" in value.traits:
            return _softmax_of_each(view, value.traits["put_together"], left)
        if isinstance(value.origin, Seq) and value.source == "item":
            items = view.run.known_items(value.origin) if view.run.is_of_known_kinds(value.origin) else ()
            return _softmax_of_each(view, items, left)
        if value.source != "item" and name not in _SAME_VALUES and not _bounded_above_alone(node, name):
            return None
        value = value.origin
    return None


def _softmax_of_each(view: View, items: tuple[Value, ...], left: int) -> Site | None:
    """The same of what is one of a few, or has each of them in it."""
    found = [_softmax_of(view, item, left) for item in items] if len(items) <= _MOST else []
    return found[0] if found and None not in found else None


def _called(node: cst.CSTNode | None) -> str:
    func = node.func if isinstance(node, cst.Call) else None
    return func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")


def _bounded_above_alone(node: cst.CSTNode | None, name: str) -> bool:
    """`clamp(max=1)`: what is 0 stays 0."""
    if name not in ("clamp", "clip") or not isinstance(node, cst.Call):
        return False
    names = [arg.keyword.value if arg.keyword is not None else "" for arg in node.args]
    of_torch = isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name) and node.func.value.value == "torch"
    return names == (["", "max"] if of_torch else ["max"])
