"""314: the logarithm or square root of what may be 0."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Tensor, real
from torchlint.rules.base import Report, View

CODE = 314
CALLS = frozenset({"torch.log", ".log", "torch.sqrt", ".sqrt"})
ZEROS = {"relu": "relu", "sigmoid": "sigmoid", "softmax": "softmax"}
CUT = re.compile(r"\.(?:data|detach\(\))")  # no slope is asked for
SQUARED_LOSSES = frozenset({"mse_loss"})


def check(view: View) -> Iterator[Report]:
    """`torch.log(torch.sigmoid(x))`, `torch.sqrt(F.mse_loss(a, b))`, `(a - b).pow(2).sum(1).sqrt()`."""
    for event in view.of("call", "method"):
        last = event.name.rsplit(".", 1)[-1]
        if last not in ("log", "sqrt") or not isinstance(event.site.node, cst.Call):
            continue
        value = event.subject if event.kind == "method" else event.args[0] if event.args else None
        given = event.site.node.func.value if event.kind == "method" else None
        if event.kind == "call" and event.site.node.args:
            given = event.site.node.args[0].value
        if last == "sqrt" and (event.grad_on is False or CUT.search(event.site.text())):
            continue
        alts = real(value)
        alts = alts if all(isinstance(alt, Tensor) for alt in alts) else ()
        why = _log(alts) if last == "log" else _sqrt(alts, given)
        if why:
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "why": why})


def _log(alts) -> str:
    acts = {alt.traits.get("act") for alt in alts}
    # The trait outlives what is added to keep away from 0: only the activation's own result counts.
    own = all(alt.site is not None and "act" in alt.sites and alt.sites["act"].node is alt.site.node for alt in alts)
    act = acts.pop() if own and len(acts) == 1 else None
    return f"{ZEROS[act]} gives 0 where its input is small, and the logarithm of 0 is -inf" if act in ZEROS else ""


def _sqrt(alts, given) -> str:
    slope = "and the slope of the square root is infinite at 0"
    if alts and all(alt.traits.get("loss") in SQUARED_LOSSES for alt in alts):
        return f"the loss is 0 once both agree, {slope}"
    if _called(given) in ("sum", "mean") and _squares(_inside(given)):
        return f"a sum of squares is 0 where both agree, {slope}"
    return ""


def _squares(node) -> bool:
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Power):
        return isinstance(node.right, cst.Integer) and node.right.value == "2"
    if _called(node) == "pow":
        return any(isinstance(arg.value, cst.Integer) and arg.value.value == "2" for arg in node.args)
    return _called(node) == "square"


def _called(node) -> str:
    return node.func.attr.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else ""


def _inside(node: cst.Call):
    owner = node.func.value
    return node.args[0].value if isinstance(owner, cst.Name) and owner.value == "torch" and node.args else owner
