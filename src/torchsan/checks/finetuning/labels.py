"""001, 002, 315: what the labels of a language model are, beside the tokens that it is given."""

from __future__ import annotations

from typing import Any

from torchlint.catalogue.protocols import SHIFTS_LABELS
from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_LIBRARIES = ("transformers", "peft")
_BATCHES = 4  # that are looked at
_TWICE = 2  # batches that must say the same
_LEAST = 4  # places of a sequence, labels of a batch
_SHARE = 0.1  # of the labels that count: less may be the mark that ends a text


class Labels(Check):
    """Labels of a language model are moved twice, lack the mark that ends a text, or have padding that counts."""

    numbers = (1, 2, 315)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.kinds: dict[type, bool] = {}  # whether models of a class move labels themselves
        self.looked = self.moved = 0
        self.masked = self.counted = 0  # marks that end a text, by whether they count for the loss
        self.padded = [0, 0, 0]  # batches in which padding counts, the labels that are padding in all batches, and all that count

    def before_forward(self, event: Event) -> None:
        kind = _kind(event.subject)
        shifts = self.kinds.get(kind)
        if shifts is None:
            shifts = self.kinds[kind] = bool(SHIFTS_LABELS.search(kind.__name__)) and kind.__module__.startswith(_LIBRARIES)
        if not shifts or self.looked >= _BATCHES or not event.grad or not event.kwargs:
            return
        ids, labels = event.kwargs.get("input_ids"), event.kwargs.get("labels")
        if ids is None and event.args:
            ids = event.args[0]
        if not _alike(ids, labels):
            return
        self.looked += 1
        with torch.no_grad():
            self._look(event, ids, labels, event.kwargs.get("attention_mask"))

    def _look(self, event: Event, ids: torch.Tensor, labels: torch.Tensor, mask: Any) -> None:
        counts = labels[:, :-1] >= 0
        ahead = (labels[:, :-1] == ids[:, 1:]) | ~counts
        own = (labels == ids) | (labels < 0)
        if int(counts.sum()) >= _LEAST and bool(ahead.all()) and not bool(own.all()):
            self.moved += 1
            if self.moved == _TWICE:
                name = name_of(event.subject) or type(event.subject).__name__
                self.found(2, event, model=name, fact=f"label n is token n + 1 in all {int(counts.sum())} places of this batch")
        if bool(own.all()):
            self._marks(event, ids, labels, mask)
            self._padding(event, ids, labels, mask)

    def _padding(self, event: Event, ids: torch.Tensor, labels: torch.Tensor, mask: Any) -> None:
        if not _alike(ids, mask):
            return
        counts = labels[:, 1:] >= 0
        padded = int((counts & (mask[:, 1:] == 0)).sum())
        self.padded = [self.padded[0] + bool(padded), self.padded[1] + padded, self.padded[2] + int(counts.sum())]
        batches, padded, every = self.padded
        if batches >= _TWICE and padded >= _SHARE * every:
            model = name_of(event.subject) or type(event.subject).__name__
            text = (
                "the labels of `{model}` are the tokens with their padding, and every padding token counts for the loss",
                "mask them by the attention mask: `labels = input_ids.masked_fill(attention_mask == 0, -100)`",
            )
            fact = f"{padded / every:.0%} of {every} labels stand where the attention mask is 0"
            self.found(315, event, words=text, model=model, fact=fact, details={"share": round(padded / every, 3)})

    def _marks(self, event: Event, ids: torch.Tensor, labels: torch.Tensor, mask: Any) -> None:
        ends = _ends(event.subject)
        if not ends or not _alike(ids, mask):
            return
        is_end = (ids.unsqueeze(-1) == torch.tensor(ends, device=ids.device)).any(-1) & (mask != 0)
        self.counted += int((is_end & (labels >= 0)).sum())
        # The mark directly behind the last token that counts.
        behind = is_end[:, 1:] & (labels[:, 1:] < 0) & (labels[:, :-1] >= 0)
        self.masked += int(behind.sum())
        every = bool((behind.sum(1) == (labels >= 0).any(1).long()).all())
        if not every:
            self.counted += 1  # a row without the mark: its texts are cut
        if self.looked == _BATCHES and self.masked >= _BATCHES and not self.counted:
            text = (
                "every mark that ends a text is masked out of the labels of `{model}`: it never learns to stop",
                "mask by the attention mask, `labels[attention_mask == 0] = -100`, or pad with a token of its own",
            )
            name = name_of(event.subject) or type(event.subject).__name__
            self.found(1, event, words=text, model=name, fact=f"{self.masked} of {self.masked} in {_BATCHES} batches, token {ends[0]}")


def _kind(model: Any) -> type:
    """The class that makes the loss: of an adapter that was told of no task, the one it is around."""
    kind = type(model)
    if kind.__module__.startswith("peft") and not SHIFTS_LABELS.search(kind.__name__):
        return type(getattr(getattr(model, "base_model", None), "model", model))
    return kind


def _alike(ids: Any, other: Any) -> bool:
    """Whether two things are batches of tokens of one shape."""
    return (
        type(ids) is torch.Tensor and type(other) is torch.Tensor and ids.dim() == 2 and ids.shape == other.shape
        and ids.shape[1] > _LEAST and ids.device == other.device and not ids.is_meta
    )


def _ends(model: Any) -> list[int]:
    """The ids of the marks that end a text, as the model is configured."""
    found = getattr(getattr(model, "config", None), "eos_token_id", None)
    return [one for one in (found if isinstance(found, (list, tuple)) else [found]) if isinstance(one, int)]


CHECKS = (Labels,)
