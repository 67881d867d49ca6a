"""318: a mask value that float16 cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Opaque, Tensor, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import dtype_of
from torchlint.rules.shared.mixed_precision import autocast_of, in_half

CODE = 318
CALLS = frozenset({".masked_fill", ".masked_fill_", "torch.masked_fill"})
LARGEST = 65504.0
PRODUCTS = frozenset({"matmul", "bmm", "mm", "baddbmm", "linear", "einsum", "conv2d"})


def check(view: View) -> Iterator[Report]:
    """`scores.half().masked_fill(mask, -1e9)`, `(q @ k).masked_fill(mask, -1e9)` under autocast to float16."""
    for event in view.of("method", "call"):
        if event.name.rsplit(".", 1)[-1] not in ("masked_fill", "masked_fill_"):
            continue
        method = event.kind == "method"
        owner = event.subject if method else event.args[0] if event.args else None
        at = 1 if method else 2
        value = event.args[at] if len(event.args) > at else event.kwargs.get("value")
        given = number(value)
        if given is None or given in (float("inf"), float("-inf")) or abs(given) < LARGEST + 16:
            continue
        because = _in_half(event, owner)
        if because is not None:
            roles = {"call": view.call_text(event.site), "value": f"{given:g}"}
            yield Report(CODE, event.site, roles, [because])


def _in_half(event: Event, owner: Value | None):
    found = dtype_of(owner)
    if found is not None:
        return (found[1], "it is float16 since here") if found[0] == "float16" else None
    autocast = autocast_of(event)
    if autocast is None or not in_half(autocast) or not real(owner) or not all(_product(alt) for alt in real(owner)):
        return None
    return autocast.site, "autocast computes matrix products in float16"


def _product(value: Value) -> bool:
    """Whether a value is a matrix product, or one scaled by a number."""
    for _ in range(4):
        node = value.site.node if isinstance(value, Opaque) and value.site is not None else None
        if isinstance(node, cst.BinaryOperation):
            if isinstance(node.operator, cst.MatrixMultiply):
                return True
            if not isinstance(node.operator, (cst.Divide, cst.Multiply)):
                return False
            parts = [part for part in value.parts if isinstance(part, Tensor) and _is(part, node.left)]
            if len(parts) != 1:
                return False
            value = parts[0]
            continue
        return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in PRODUCTS
    return False


def _is(part: Tensor, node: cst.BaseExpression) -> bool:
    """Whether a value is what an expression gave."""
    return part.site is not None and part.site.node is node or isinstance(node, cst.Name) and part.name == node.value
