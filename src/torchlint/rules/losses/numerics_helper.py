"""317: formulas that lose digits, where torch has a function that does not."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View

CODE = 317
CALLS = frozenset({"torch.log", ".log", "torch.exp", ".exp"})
ROUNDED = frozenset({"int", "long", "round", "floor", "ceil", "item"})


def check(view: View) -> Iterator[Report]:
    """`torch.log(1 + x)`, `torch.exp(x) - 1`, `torch.log(torch.sum(torch.exp(x)))`."""
    for event in view.of("call", "method"):
        if event.name.rsplit(".", 1)[-1] not in ("log", "exp") or not isinstance(event.site.node, cst.Call):
            continue
        above = tuple(event.site.parsed.around(event.site.node))
        if above and isinstance(above[0], cst.Attribute) and above[0].attr.value in ROUNDED:
            continue
        found = _logarithm(event) if event.name.endswith("log") else _minus_one(event, above)
        if found is not None:
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "what": found[0], "better": found[1]})


def _given(event: Event) -> cst.BaseExpression | None:
    """What a function or method is applied to."""
    node = event.site.node
    if event.kind == "method":
        return node.func.value
    return node.args[0].value if len(node.args) == 1 else None


def _logarithm(event: Event) -> tuple[str, str] | None:
    given = _given(event)
    if isinstance(given, cst.BinaryOperation) and isinstance(given.operator, cst.Add):
        if _one(given.left) or _one(given.right):
            return "the logarithm of 1 + x", "torch.log1p"
    if _called(given) == "sum" and _called(_inside(given)) == "exp":
        # With the largest value taken out by hand it is logsumexp already.
        if not isinstance(_inside(_inside(given)), cst.BinaryOperation):
            return "the logarithm of a sum of exponentials", "torch.logsumexp"
    return None


def _minus_one(event: Event, above: tuple) -> tuple[str, str] | None:
    around = above[0] if above else None
    if isinstance(around, cst.BinaryOperation) and isinstance(around.operator, cst.Subtract):
        if around.left is event.site.node and _one(around.right):
            return "the exponential less 1", "torch.expm1"
    return None


def _one(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.Integer, cst.Float)) and node.evaluated_value == 1


def _called(node) -> str:
    return node.func.attr.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else ""


def _inside(node: cst.Call):
    """What `torch.sum(x)` and `x.sum()` are taken of."""
    owner = node.func.value
    return node.args[0].value if isinstance(owner, cst.Name) and owner.value == "torch" and node.args else owner
