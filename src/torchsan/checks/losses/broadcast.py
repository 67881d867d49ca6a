"""309: prediction and target broadcast against each other, as (N, 1) against (N,) does, into an (N, N) loss.

In torch's loss functions both shapes are there to be compared. A loss written by hand is looked at through its graph in
the first backward passes: `mean((prediction - target) ** 2)` is Mean, Pow, Sub, and a Sub node whose output is larger
than the only operand with a gradient broadcast it (shapes: torch.autograd.graph.Node._input_metadata).
"""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.autograd_graph import node_name
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_SHAPED = frozenset(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "poisson_nll_loss"))
_FIRST = 3  # backward passes of each kind of graph that are looked at
_FAR = 48  # nodes of a graph that are looked at
_THROUGH = frozenset("Mean Sum Pow Abs Mul Div Sqrt Nansum ToCopy Square Neg Add LinalgVectorNorm Norm".split())
_DELIBERATE = frozenset("Unsqueeze Expand View ReshapeAlias Index Repeat UnsafeView Permute Select".split())

_OTHERS = (
    "`{loss}` broadcasts its prediction against its target, which have other shapes: values are compared that do not belong "
    "together",
    "give both the same shape: {mend}",
)


class Broadcast(Check):
    """Prediction and target have different shapes and broadcast against each other in the loss."""

    numbers = (309,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looked = 0

    def before_loss(self, event: Event) -> None:
        if event.subject not in _SHAPED:
            return
        given, target = event.input, event.target
        if not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor) or given.shape == target.shape:
            return
        try:
            whole = torch.broadcast_shapes(given.shape, target.shape)
        except RuntimeError:
            return  # torch raises, and says so
        # A single number, or one row for the whole batch, is broadcast on purpose; one prediction a sample is not, against
        # a square that a broadcast before has made of as many targets.
        if whole.numel() > max(given.numel(), target.numel()) or _is_squared(given, target):
            roles = {"call": event.subject, "loss": event.subject}
            self._say(event, tuple(given.shape), tuple(target.shape), tuple(whole), **roles)

    def before_backward(self, event: Event) -> None:
        if (self.looked >= _FIRST and not self.thorough) or not isinstance(event.subject, torch.Tensor):
            return
        self.looked += 1
        found = _difference(event.subject.grad_fn)
        if found is not None:
            operand, whole = found
            self._say(event, operand, (whole[-1],), whole, loss=name_of(event.subject))

    def _say(self, event: Event, given: tuple, target: tuple, whole: tuple, **roles: Any) -> None:
        self.found(
            309,
            event,
            fact=f"{given} against {target} gives {whole}",
            pairs="each prediction with every target: it broadcasts (N, 1) against (N,) to (N, N)",
            words=None if _is_column(given, target) else _OTHERS,
            mend=_mend(given, target),
            details={"input": list(given), "target": list(target), "result": list(whole)},
            **roles,
        )


def _is_squared(given: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether predictions (N,) that a model computed meet targets (N, N)."""
    return given.dim() == 1 and given.grad_fn is not None and len(given) > 1 and target.shape == (len(given), len(given))


def _is_column(given: tuple, target: tuple) -> bool:
    """Whether one is (N, 1) and the other (N,): the page's own words."""
    return sorted((given, target), key=len) == sorted(((given[0],), (given[0], 1)), key=len) if given else False


def _mend(given: tuple, target: tuple) -> str:
    """How to give both the same shape, where one of them has a dimension of 1 more."""
    for longer, shorter, name in ((given, target, "target"), (target, given, "prediction")):
        for dim, size in enumerate(longer):
            if size == 1 and longer[:dim] + longer[dim + 1:] == shorter:
                return f"`.unsqueeze({dim})` for the {name}, or `.squeeze({dim})` for the other"
    return "look at the layer or the loader that gives one of them another shape"


def _difference(root: Any, left: int = _FAR) -> tuple[tuple, tuple] | None:
    """The shapes of the operand and of the result of an outer difference (N, 1) - (N,) that a loss is made of.

    A loss may be the sum of several; nothing but arithmetic stands between the loss and the difference.
    """
    todo = [root]
    while todo and left:
        node, left = todo.pop(0), left - 1
        name = node_name(node) if node is not None else ""
        if name in ("Sub", "Rsub"):
            found = _outer(node)
            if found is not None:
                return found
        elif name in _THROUGH:
            todo.extend(dict.fromkeys(following for following, _ in node.next_functions))
    return None


def _outer(node: Any) -> tuple[tuple, tuple] | None:
    operands = [following for following, _ in node.next_functions if following is not None]
    if len(operands) != 1 or node_name(operands[0]) in _DELIBERATE:
        return None  # pairwise differences of one's own values are meant
    whole = tuple(node._input_metadata[0].shape)
    index = next(index for following, index in node.next_functions if following is not None)
    operand = tuple(operands[0]._input_metadata[index].shape)
    square = len(whole) == 2 and whole[0] == whole[1] and whole[0] > 1
    return (operand, whole) if square and operand in ((whole[0], 1), (whole[0],)) else None


CHECKS = (Broadcast,)
