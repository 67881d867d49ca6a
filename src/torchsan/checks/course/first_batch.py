"""The first batch of a language model, for the summary: what its loss asks for, decoded, and what trains. Finds nothing.

A model is one of language where its forward is given ids of two dimensions, and the target of its loss is these ids, moved or
not, or is as many classes as the model embeds. The ids and the target are copied once; nothing else waits for a device.
"""

from __future__ import annotations

import sys
from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.checks.course.what_trains import parameters_of
from torchsan.own import torch, weakref
from torchsan.program import letters, tokenizers
from torchsan.program.layers import WRAPPERS
from torchsan.report.first_batch import NO_FORWARD, NO_IDS, NO_TARGET, NOT_THESE, FirstBatch, Run
from torchsan.stream.events import Event

_NEARER = (NO_FORWARD, NO_IDS, NO_TARGET, NOT_THESE)
_FORWARDS = 16  # after which a model is taken for none of language
_VALUES = 1 << 18  # of ids that are copied; beyond it, whole rows as far as they go
_ROWS = 4  # that are kept as text
_LONG, _HEAD, _TAIL = 400, 260, 120  # tokens of a run: more are cut, to its beginning and end
_IGNORED = -100
_SHIFTS = ((1, "next"), (0, "same"), (2, "second"))
_BATCHES = 1024  # of the first step whose tokens are counted


class FirstBatchOfText(Check):
    """Looks at the first batch of a language model."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.left = _FORWARDS
        self.model: weakref.ref | None = None
        self.ids: list[weakref.ref] = []
        self.labels: weakref.ref | None = None
        self.computed_in = ""
        self.is_seen = False
        self.counts: list[int] = []
        self.first: FirstBatch | None = None
        self.stepped: Any = None

    def before_forward(self, event: Event) -> None:
        if event.depth or not event.grad or not self.left:
            return
        self.left -= not self.is_seen
        self.ids, self.labels = [], None
        given = {**dict(enumerate(event.args)), **event.kwargs}
        for name, value in given.items():
            if type(value) is torch.Tensor and value.dim() == 2 and not value.is_floating_point() and value.dtype in (torch.int64, torch.int32):
                if name == "labels":
                    self.labels = weakref.ref(value)
                elif name not in ("attention_mask", "position_ids", "token_type_ids") and value.shape[1] > 1:
                    self.ids.insert(0, weakref.ref(value)) if name == "input_ids" else self.ids.append(weakref.ref(value))
        self._lacks(NO_TARGET if self.ids else NO_IDS)
        self.model = weakref.ref(event.subject)
        kind = next((t().device.type for t in self.ids), "cpu")
        self.computed_in = str(torch.get_autocast_dtype(kind)).removeprefix("torch.") if torch.is_autocast_enabled(kind) else ""

    def _lacks(self, why: str) -> None:
        """What the newest forward lacks is told, but for those that have come nearer before."""
        watch: Any = self.watch
        if _NEARER.index(why) > _NEARER.index(watch.no_batch):
            watch.no_batch = why

    def before_loss(self, event: Event) -> None:
        if not self.left or not self.ids or event.subject not in ("cross_entropy", "nll_loss"):
            return
        target, given = event.target, event.input
        if type(target) is not torch.Tensor or target.dtype is not torch.int64 or target.numel() < 2:
            return
        if not isinstance(given, torch.Tensor) or not given.requires_grad or given.dim() < 2:
            return
        ignored = event.kwargs.get("ignore_index", event.args[4] if len(event.args) > 4 else _IGNORED)
        if type(ignored) is int:
            self._look(target, ignored, given.shape[1], is_loss=True)

    def before_backward(self, event: Event) -> None:
        labels = self.labels() if self.labels is not None else None
        if self.left and labels is not None and self.ids:  # a loss of its own, where no function of torch's was called
            self._look(labels, _IGNORED, 0, is_loss=False)
        self.ids, self.labels = [], None

    def _look(self, target: torch.Tensor, ignored: int, classes: int, is_loss: bool) -> None:
        model = self.model() if self.model is not None else None
        ids = next((one for ref in self.ids if (one := ref()) is not None), None)
        if model is None or ids is None:
            return
        has_labels = self.labels is not None
        self.ids, self.labels = [], None
        asked, grid = _laid_out(ids, target)
        if grid is None or not (asked or _embeds(model, classes)):
            self._lacks(NOT_THESE)
            return
        moves = not is_loss and _moves_labels(model)
        counts = grid != ignored
        if moves:
            counts = counts[:, 1:]
        if not self.is_seen:
            self.is_seen = True
            self._copy(model, ids, grid, ignored, moves, has_labels and _moves_labels(model), classes if _embeds(model, classes) else 0)
        if len(self.counts) < _BATCHES:
            self.watch.late.ask(self, counts.sum(), self.counts.append)

    def _copy(
        self, model: nn.Module, ids: torch.Tensor, grid: torch.Tensor, ignored: int, moves: bool, moved: bool, embeds: int
    ) -> None:
        whole, length, asked = len(ids), ids.shape[1], grid.shape[1]
        rows = max(1, min(whole, _VALUES // (length + asked)))
        both = torch.cat((ids[:rows].reshape(-1).to(grid.device, torch.int64), grid[:rows].reshape(-1)))
        watch: Any = self.watch
        tokenizer = watch.tokenizer if watch.tokenizer is not None else tokenizers.find(sys._getframe(1))
        if tokenizer is None:
            tokenizer = letters.find(sys._getframe(1), embeds)
        reader = tokenizers.Reader(tokenizer, getattr(_inner(model), "config", None))
        name, computed_in = type(_inner(model)).__name__, self.computed_in

        def answer(values: list[int]) -> None:
            given = [values[at * length:(at + 1) * length] for at in range(rows)]
            rest = values[rows * length:]
            targets = [rest[at * asked:(at + 1) * asked] for at in range(rows)]
            if moves:
                targets = [[*row[1:], ignored] for row in targets]
            given, targets, relation = related(given, targets, ignored)
            if relation == "other" and not embeds:
                self.left = 0  # whole numbers, and no language
                self._lacks(NOT_THESE)
                return
            counted = sum(one != ignored for row in targets for one in row)
            pads = {one for one, role in reader.roles.items() if "pad" in role}
            padding = sum(one in pads for row in given for one in row) if pads else None
            alone = {one for one in pads if reader.roles[one] == "pad"}  # one that ends a text, too, may count
            asked_for = sum(one in alone for row in targets for one in row if one != ignored)
            pairs = list(zip(given, targets))[:_ROWS]
            shown = [line for one, two in pairs for line in _rows(one, two, relation, ignored, reader)]
            self.first = watch.first_batch = FirstBatch(
                model=name, rows=rows, length=len(given[0]), counted=counted, asked=sum(map(len, targets)), padding=padding, relation=relation,
                moved_by_model=moved and relation in ("next", "second"), tokenizer=reader.name,
                computed_in=computed_in, shown=shown, step=self.counts, parameters=self.stepped,
                padding_counts=asked_for if relation != "other" else 0,
            )

        self.watch.late.ask(self, both, answer)

    def before_optimizer_step(self, event: Event) -> None:
        model = self.model() if self.model is not None and self.is_seen and self.left else None
        if model is None:
            return
        account = self.ledger.account(event.subject)
        own = {id(p) for p in model.parameters()}
        if own.isdisjoint(account.ids):
            return
        self.left = 0  # it has been seen
        self.stepped = parameters_of(model, [one for one in self.ledger if not own.isdisjoint(one.ids)])
        if self.first is not None:
            self.first.parameters = self.stepped


def _laid_out(ids: torch.Tensor, target: torch.Tensor) -> tuple[bool, torch.Tensor | None]:
    """The target in rows as the ids have them, and whether it asks for as many tokens as there are."""
    rows, length = ids.shape
    if target.numel() in (rows * length, rows * (length - 1)) and length > 1:
        return True, target.reshape(rows, -1)
    if target.dim() == 2 and len(target) == rows:
        return False, target
    return False, target.reshape(rows, -1) if target.numel() % rows == 0 and target.numel() > rows else None


def related(given: list[list[int]], targets: list[list[int]], ignored: int) -> tuple[list[list[int]], list[list[int]], str]:
    """How the target lies to the input; with them, in rows that are sequences, where they were columns."""
    turned = [list(map(list, zip(*rows))) for rows in (given, targets)]
    for rows, asked in ((given, targets), turned) if len(targets[0]) == len(given[0]) else ((given, targets),):
        for shift, name in _SHIFTS:
            pairs = [
                (want, row[at + shift])
                for row, wanted in zip(rows, asked) for at, want in enumerate(wanted) if want != ignored and at + shift < len(row)
            ]
            if len(pairs) > 1 and len({one for _, one in pairs}) > 1 and all(want == have for want, have in pairs):
                return rows, asked, name
    filled = len(targets[0]) == len(given[0]) and any(one == ignored for row in targets for one in row)
    return given, targets, "filled in" if filled and _most_are_left(targets, ignored) else "other"


def _most_are_left(targets: list[list[int]], ignored: int) -> bool:
    return sum(one == ignored for row in targets for one in row) > sum(map(len, targets)) / 2


def _rows(given: list[int], target: list[int], relation: str, ignored: int, reader: tokenizers.Reader) -> list[list[Run]]:
    """A row as runs; of another text than the input, two."""
    if relation == "other":
        return [
            _runs([(one, None) for one in given], reader),
            _runs([(one, True) for one in target if one != ignored], reader),
        ]
    if relation == "filled in":
        return [_runs([(want, True) if want != ignored else (have, False) for have, want in zip(given, target)], reader)]
    shift = next(shift for shift, name in _SHIFTS if name == relation)
    tokens: list[tuple[int, bool | None]] = []
    for at, one in enumerate(given):
        wanted = target[at - shift] if 0 <= at - shift < len(target) else ignored
        tokens.append((one, wanted != ignored))
    tokens += [(one, True) for one in target[len(given) - shift:] if one != ignored] if shift else []
    return [_runs(tokens, reader)]


def _runs(tokens: list[tuple[int, bool | None]], reader: tokenizers.Reader) -> list[Run]:
    runs: list[Run] = []
    at = 0
    while at < len(tokens):
        one, counts = tokens[at]
        role = reader.roles.get(one, "")
        end = at + 1
        while end < len(tokens) and tokens[end][1] is counts and (tokens[end][0] == one if role else tokens[end][0] not in reader.roles):
            end += 1
        ids = [token for token, _ in tokens[at:end]]
        if role:
            runs.append(Run(reader.text([one]), counts, role, len(ids)))
        elif len(ids) > _LONG:
            left = len(ids) - _HEAD - _TAIL
            runs.append(Run(reader.text(ids[:_HEAD]), counts, left_out=left, end=reader.text(ids[-_TAIL:])))
        else:
            runs.append(Run(reader.text(ids), counts))
        at = end
    return runs


def _inner(model: Any) -> Any:
    """The model inside of wrappers: DDP's, the compiler's, an adapter's."""
    while True:
        name = WRAPPERS.get(type(model).__name__)
        inside = model._modules.get(name) if name else None
        if inside is None and any(cls.__module__.partition(".")[0] == "peft" for cls in type(model).__mro__):
            inside = getattr(model, "get_base_model", lambda: None)()
        if not isinstance(inside, nn.Module) or inside is model:
            return model
        model = inside


def _embeds(model: nn.Module, classes: int) -> bool:
    return classes > 2 and any(isinstance(layer, nn.Embedding) and layer.num_embeddings == classes for layer in model.modules())


def _moves_labels(model: nn.Module) -> bool:
    inner = _inner(model)
    return getattr(inner, "loss_type", None) == "ForCausalLM" or type(inner).__name__.endswith(("ForCausalLM", "LMHeadModel"))


CHECKS = (FirstBatchOfText,)
