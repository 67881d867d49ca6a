"""310, 312, 313: what a loss is given as its prediction: told by the graphs of its arguments, confirmed by numbers."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.autograd_graph import VIEWS, node_name
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

# Losses that another order of arguments makes another function. kl_div is left out: KL(teacher || student) and
# KL(student || teacher) are both computed on purpose.
_ORDERED = frozenset(("cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "nll_loss"))
_OF_SCORES = frozenset(("cross_entropy", "binary_cross_entropy_with_logits"))
_FIRST, _EVERY = 32, 16  # calls whose graph is looked at: the first ones, then one in so many
_ROWS = frozenset(("Index", "IndexSelect", "Slice"))
_FAR = 6  # views between an activation and the loss
_OVER_SAMPLES = (
    "`{call}` is given probabilities that sum to one over dimension {dim}, not over the classes in dimension 1",
    "compute them over the classes: `log_softmax(scores, dim=1)`",
)


class LossArguments(Check):
    """A loss gets its arguments in the wrong order, or scores that an activation has cut or normalised amiss."""

    numbers = (310, 312, 313)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.calls = 0

    def before_loss(self, event: Event) -> None:
        given, target = event.input, event.target
        if not isinstance(given, torch.Tensor) or not given.is_floating_point():
            return
        if given.requires_grad:
            self.calls += 1
            if self.calls <= _FIRST or not self.calls % _EVERY or self.thorough:
                self._graph(event, given)
        elif isinstance(target, torch.Tensor) and target.requires_grad and event.subject in _ORDERED:
            self._order(event, given, target)

    def on_loss(self, event: Event) -> None:
        """Class numbers where scores belong make torch raise, of a dtype or of dimensions."""
        if event.error is None or event.subject not in ("cross_entropy", "nll_loss"):
            return
        given, target = event.input, event.target
        if isinstance(given, torch.Tensor) and isinstance(target, torch.Tensor):
            if not given.is_floating_point() and target.requires_grad and target.dim() == given.dim() + 1:
                dtype = str(given.dtype).removeprefix("torch.")
                self.found(310, event, call=event.subject, fact=f"the first argument is {dtype} {list(given.shape)}")

    def _order(self, event: Event, given: torch.Tensor, target: torch.Tensor) -> None:
        """That the prediction needs no gradient and the target does can be meant: a target that is learned. So the
        first argument must look like a target, and the second cannot be one."""
        if given.shape != target.shape or not given.numel():
            return
        with torch.no_grad():
            hard = ((given == 0) | (given == 1)).all()
            soft = ((given >= 0) & (given <= 1)).all() & ((target < 0) | (target > 1)).any()
            kind = hard.int() * 2 + soft.int()
        place, call = event.where(), event.subject

        def answer(kind: int) -> None:
            if kind:
                what = "holds zeros and ones alone" if kind > 1 else "lies between 0 and 1, and the second does not"
                self.found(310, place, call=call, fact=f"the first argument needs no gradient and {what}")

        self.watch.late.ask(self, kind, answer)

    def _graph(self, event: Event, given: torch.Tensor) -> None:
        node = _before_rows_were_taken(given.grad_fn, given.dim())
        if event.subject == "nll_loss":
            dim = _normalised(node, given.dim())
            if dim is not None and dim != 1 and given.dim() > 1:
                fact = f"dimension {dim} has {given.shape[dim]} entries, dimension 1 has {given.shape[1]} classes"
                words = tuple(text.replace("{dim}", str(dim)) for text in _OVER_SAMPLES)
                self.found(312, event, call=event.subject, words=words, fact=fact)
            elif dim == 1 and _is_relu(_behind(node)):
                with torch.no_grad():
                    self._cut(event.where(), event.subject, None, _tied(given))
        elif event.subject in _OF_SCORES and _is_relu(node):
            with torch.no_grad():
                self._cut(event.where(), event.subject, name_of(given), (given <= 0).float().mean())

    def _cut(self, place: Where | None, call: str, name: str | None, share: torch.Tensor) -> None:
        def answer(share: float) -> None:
            if share:  # nothing was cut off yet
                fact = f"{share:.0%} of {'the scores' if name is None else f'`{name}`'} are 0 and get no gradient"
                harm = "scores below zero are cut off, and so are their gradients"
                self.found(313, place, call=call, act="ReLU", harm=harm, fact=fact)

        self.watch.late.ask(self, share, answer)


def _before_rows_were_taken(node: Any, dims: int) -> Any:
    """What made the values out of which some rows were taken, `output[mask]`, where that leaves dimensions as they were."""
    for _ in range(_FAR):
        if node is None or node_name(node) not in _ROWS or len(getattr(node, "_saved_self_sym_sizes", ())) != dims:
            break
        node = node.next_functions[0][0]
    return node


def _behind(node: Any) -> Any:
    """What the scores under a log_softmax, or under the logarithm of a softmax, came from."""
    if node_name(node) == "Log":
        node = node.next_functions[0][0]
    return node.next_functions[0][0]


def _tied(log_probabilities: torch.Tensor) -> torch.Tensor:
    """The share of values that are the least of their sample together with others: of scores that ReLU cut, the zeros."""
    least = log_probabilities == log_probabilities.amin(1, keepdim=True)
    return (least & (least.sum(1, keepdim=True) > 1)).float().mean()


def _normalised(node: Any, dims: int) -> int | None:
    """The dimension that a log_softmax, or the logarithm of a softmax, was computed over; None for anything else."""
    if node is not None and node_name(node) == "Log":
        node = node.next_functions[0][0]
        if node is None or node_name(node) != "Softmax":
            return None
    elif node is None or node_name(node) != "LogSoftmax":
        return None
    dim = node._saved_dim
    return dim - (1 << 64) + dims if dim >= 1 << 63 else dim  # autograd keeps -1 as an unsigned number


def _is_relu(node: Any) -> bool:
    for _ in range(_FAR):
        if node is None or node_name(node) not in VIEWS:
            break
        node = next((following for following, _ in node.next_functions if following is not None), None)
    return node is not None and node_name(node) == "Relu"


CHECKS = (LossArguments,)
