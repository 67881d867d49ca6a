"""003, 520: a model of the next token that is asked for the one it was given, or that sees the one it is asked for.

That a model is one of the next token says its target: the input one place on. That a target is the input itself is wrong
where the model reads from left to right, and its last output is computed of the last input: the gradients tell.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.checks.modules.softmax_calls import Call, Embedded, SoftmaxCalls
from torchsan.own import torch, weakref
from torchsan.program.layers import tensors
from torchsan.program.naming import name_of
from torchsan.report.printing import code_at
from torchsan.stream.events import Event

_LEAST = 4  # places of a sequence
_MOST = 0.3  # of the targets must count: with fewer it is a model that fills in
_COUNT = 16  # targets after a prompt that is left out
_TWICE = 2  # batches that must say the same
_FORWARDS = 8  # of a model that are looked at
_OPEN = (
    "`{call}` has no causal mask, and the target of `{loss}` is the input one place on: each position sees the token that "
    "it is to predict",
    "mask what comes later: `F.scaled_dot_product_attention(q, k, v, is_causal=True)`, or a causal `attn_mask`",
)


class NextToken(Check):
    """A model of the next token sees it, or is asked for the one it was given."""

    numbers = (3, 520)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.source: SoftmaxCalls | None = None
        self._forget()
        self.times: dict[tuple, int] = {}

    def _forget(self) -> None:
        self.ids: list[weakref.ref] = []  # whole numbers that the last forward was given
        self.length: int | None = None  # of the sequences whose next tokens are the target of a loss
        self.same: Embedded | None = None  # what the target of a loss is equal to
        self.loss: Event | None = None
        self.calls: list[Call] | None = None
        self.model: weakref.ref | None = None

    def start(self) -> None:
        for check in self.watch.checks:
            if isinstance(check, SoftmaxCalls):
                self.source = check
                check.hear(self, self._told)

    def before_forward(self, event: Event) -> None:
        if event.depth or self.source is None:
            return
        self._forget()
        if event.grad and self.source.count.get(id(event.subject), 0) <= _FORWARDS:
            self.model = weakref.ref(event.subject)
            self.ids = [
                weakref.ref(t) for t in tensors((event.args, event.kwargs))
                if t.dtype is torch.int64 and t.dim() == 2 and type(t) is torch.Tensor and min(t.shape) > 0
            ]

    def before_loss(self, event: Event) -> None:
        target, given = event.target, event.input
        if self.model is None or self.loss is not None or event.subject not in ("cross_entropy", "nll_loss"):
            return
        if type(target) is not torch.Tensor or target.dtype is not torch.int64 or not isinstance(given, torch.Tensor):
            return
        if not given.requires_grad:
            return
        known = [ids for ref in self.ids if (ids := ref()) is not None and ids.device == target.device]
        self.length = next((length for ids in known if (length := _next(ids, target)) is not None), None)
        if self.length is None and self.source is not None:
            self.same = next((one for one in self.source.embedded if _same(one.ids, target)), None)
        if self.length is not None or self.same is not None:
            event.where()
            self.loss = event

    def _told(self, event: Event, calls: list[Call]) -> None:
        self.calls = calls

    def on_backward(self, event: Event) -> None:
        model = self.model() if self.model is not None else None
        if self.loss is not None and self.calls is not None and model is not None:
            scores = [call for call in self.calls if call.causal is not None]
            if self.length is not None:
                self._open([call for call in scores if call.shape[-1] == self.length], self.loss)
            elif self.same is not None and self.same.last:
                self._unshifted(self.same, scores, model, self.loss)
        self._forget()

    def _open(self, scores: list[Call], loss: Event) -> None:
        if scores and not any(call.causal for call in scores) and self._again(520, scores[0].at):
            call = scores[0]
            self.found(
                520, call.at, words=_OPEN, call=code_at(call.at) or "attention", loss=loss.subject,
                fact=f"scores {tuple(call.shape)}", related=((loss, "the loss whose target is the next token"),),
            )

    def _unshifted(self, same: Embedded, scores: list[Call], model: nn.Module, loss: Event) -> None:
        for dim in (1, 0):
            over = [call for call in scores if call.shape[-1] == same.ids.shape[dim]]
            reads_on = all(call.causal for call in over) if over else not scores and _reads_on(model, dim)
            if same.ids.shape[dim] >= _LEAST and reads_on and bool(same.last[dim]):
                if self._again(3, loss.where()):
                    name = name_of(model) or type(model).__name__
                    self.found(3, loss, loss=loss.subject, model=name, fact=f"all {same.ids.numel()} targets are equal to the input")
                return

    def _again(self, number: int, at: Any) -> bool:
        self.times[number, at] = self.times.get((number, at), 0) + 1
        return self.times[number, at] == _TWICE


def _next(ids: torch.Tensor, target: torch.Tensor) -> int | None:
    """The length of the sequences where a target holds the ids one place on, those that the loss leaves out (below 0) aside."""
    rows, length = ids.shape
    with torch.no_grad():
        if bool((ids == ids[:1, :1]).all()):
            return None
        if target.numel() == ids.numel():
            placed = target.reshape(ids.shape)
            if length >= _LEAST and _agree(placed[:, :-1], ids[:, 1:]):
                return length
            if rows >= _LEAST and _agree(placed[:-1].t(), ids[1:].t()):
                return rows
        elif length > _LEAST and target.numel() == rows * (length - 1) and _agree(target.reshape(rows, -1), ids[:, 1:]):
            return length
    return None


def _agree(placed: torch.Tensor, ids: torch.Tensor) -> bool:
    counted = placed >= 0
    enough = _all_or_the_end(counted) & (counted.float().mean() > _MOST) & (ids != ids[:1, :1]).any()
    return bool(enough & ((placed == ids) | ~counted).all())


def _all_or_the_end(counted: torch.Tensor) -> torch.Tensor:
    """Whether each sequence counts from its first place on, or from where its prompt ends to the end: what a model that
    fills in is asked for lies anywhere."""
    return counted[:, 0].all() | ((counted[:, 1:] | ~counted[:, :-1]).all() & (counted.sum() >= _COUNT))


def _same(ids: torch.Tensor, target: torch.Tensor) -> bool:
    if ids.numel() != target.numel() or ids.device != target.device or target.dim() not in (1, 2):
        return False
    with torch.no_grad():
        if bool((ids.reshape(-1) == target.reshape(-1)).all()):
            return bool((ids != ids[:1, :1]).any())
        placed = target.reshape(ids.shape)
        return bool((placed < 0).any()) and _agree(placed, ids)


def _reads_on(model: nn.Module, dim: int) -> bool:
    """Whether a model is one recurrent layer that reads from left to right: with a second one it may be an autoencoder."""
    layers = [layer for layer in model.modules() if isinstance(layer, nn.RNNBase)]
    return len(layers) == 1 and not layers[0].bidirectional and layers[0].batch_first == (dim == 1)


CHECKS = (NextToken,)
