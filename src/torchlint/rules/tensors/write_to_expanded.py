"""414: a write into a tensor that expand() has made of fewer elements than it shows."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Tensor, number
from torchlint.rules.base import Report, View

CODE = 414
# Writing one number everywhere is harmless: it is what every element gets.
UNIFORM = frozenset({"zero_", "fill_", "masked_fill_", "[]="})


def check(view: View) -> Iterator[Report]:
    """`x.unsqueeze(0).expand(4, -1)`, and then `x += 1`."""
    for event in [*view.of("inplace"), *view.of("augment")]:
        value = event.subject
        layout = value.traits.get("layout") if isinstance(value, Tensor) else None
        if not isinstance(layout, tuple) or layout[0] != "expand":
            continue
        expand = value.sites.get("layout")
        if expand is None or value.site is None or value.site.node is not expand.node:
            continue  # cloned or moved since: perhaps a copy
        if event.get("method") in UNIFORM or not _grown(value):
            continue
        related = [(value.site, "expand gives a view in which elements share memory")]
        yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related)


def _grown(value: Tensor) -> bool:
    """Whether an expand repeats something for certain: a dimension put in just before, or known to be one."""
    before, sizes = value.origin, value.traits["layout"][1]
    if not isinstance(before, Tensor) or all(number(size) in (-1, 1) for size in sizes):
        return False
    call = before.site.node if before.site is not None else None
    name = call.func.attr.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else ""
    if name == "unsqueeze" and len(call.args) == 1:
        at = _literal(call.args[0].value)
        return at is not None and -len(sizes) <= at < len(sizes) and number(sizes[at]) not in (-1, 1)
    known = before.traits.get("sizes")
    if not known or "made" not in before.traits or len(known) > len(sizes):
        return False
    pairs = zip(reversed(known), reversed(sizes), strict=False)
    return any(number(old) == 1 and number(new) not in (1, -1) for old, new in pairs)


def _literal(node: cst.BaseExpression) -> int | None:
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = _literal(node.expression)
        return None if inner is None else -inner
    return int(node.value) if isinstance(node, cst.Integer) and node.value.isdigit() else None
