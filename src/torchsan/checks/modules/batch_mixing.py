"""524, at level="thorough": one sample's output changes with another sample's input.

Before two forwards of a model it is run on copies, in evaluation mode: once as it is, and with one sample replaced by
its neighbour. Where all outputs change, a statistic over the batch may be meant: its outputs come in another order where
the samples do, and nothing else; those of a view that mixes samples become others. That is done only for models whose code, read, does nothing but compute (`torchsan.nonfinite.purity`), without
hooks of the user's, and on the stand-ins of the replay; random states, buffers and parameters are as before.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from torch import nn
from torch.nn.modules import module as registration
from torch.utils.data import default_collate

from torchsan.check import Check
from torchsan.nonfinite.purity import pure
from torchsan.nonfinite.replay import apart
from torchsan.own import torch, weakref
from torchsan.probes.modules import is_compiled
from torchsan.program.layers import tensors
from torchsan.program.naming import name_of
from torchsan.program.source import users_class
from torchsan.program.where import Where
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds

_LOOKS = 2  # forwards of each model
_LEAST = 4  # samples: with fewer, "some of the others" and "all of the others" are the same
_ROUNDING = 1e-3  # relative difference that is none
_OF_STEPS = (nn.RNNBase, nn.MultiheadAttention)  # with a batch read as steps, all outputs change
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


class BatchMixing(Check):
    """One sample's output changes with another sample's input."""

    numbers = (524,)
    level = "thorough"

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.batch_size: int | None = None  # of the loader that gave the last batch
        self.scored: int | None = None  # where there is no loader: samples that the last loss was computed of
        self.batch: list[weakref.ref] = []  # its tensors
        self.looks: dict[int, int] = self.ledger.while_alive({})
        self.mixed: dict[int, int] = {}
        self.of_steps: list[tuple[Where | None, dict[str, str]]] = []  # findings that another check may tell better
        self.closed = WeakIds()  # models that are left alone

    def on_loader_batch(self, event: Event) -> None:
        size = getattr(event.subject, "batch_size", None)
        self.batch_size = size if isinstance(size, int) else None
        usual = getattr(event.subject, "collate_fn", None) is default_collate  # another one may put steps first
        self.batch = [weakref.ref(t) for t in tensors(event.batch)] if usual else []

    def on_loss(self, event: Event) -> None:
        """One class for each sample: what a model without a loader is given in one go."""
        given, target = event.input, event.target
        if isinstance(given, torch.Tensor) and isinstance(target, torch.Tensor) and given.requires_grad and given.dim() == 2:
            self.scored = given.shape[0] if target.dim() == 1 and not target.is_floating_point() else None

    def before_forward(self, event: Event) -> None:
        model, size = event.subject, self.batch_size or self.scored
        if event.depth or size is None or size < _LEAST or model in self.closed:
            return
        given = next(tensors((event.args, event.kwargs)), None)
        if given is None or not given.dim() or given.shape[0] != size:
            return
        look = self.looks[id(model)] = self.looks.get(id(model), 0) + 1
        if look >= _LOOKS or not _only_computes(model):
            self.closed.add(model)
        if model in self.closed and look < _LOOKS:
            return
        changed = reordered = None
        with suppress(Exception):  # whatever it is, the forward itself will say so
            changed, reordered = _changes(model, event.args, event.kwargs, size)
        if changed is None:
            return
        others = reordered and self._has_samples_first(given)
        if not all(_is_wrong(at, rows, size) or (others and len(rows) == size) for at, rows in changed.items()):
            return
        self.mixed[id(model)] = self.mixed.get(id(model), 0) + 1
        if self.mixed[id(model)] == _LOOKS:
            at, rows = next(iter(changed.items()))
            own = "" if at in rows else ", and its own did not"
            listed = ", ".join(map(str, [row for row in rows if row != at][:4]))
            more = ", ..." if len(rows) > 5 else ""
            fact = f"sample {at} of {size} was replaced: the outputs of samples {listed}{more} changed{own}"
            if reordered and len(rows) == size:
                fact += "; in another order of the samples they are others"
            words = {"model": name_of(model) or type(model).__name__, "fact": fact}
            if all(len(rows) == size for rows in changed.values()) and any(isinstance(m, _OF_STEPS) for m in model.modules()):
                self.of_steps.append((event.where(), words))
            else:
                self.found(524, event, **words)

    def finish(self) -> None:
        """A layer that reads the batch as steps is told by its line, as 510."""
        if not any(finding.number == 510 for finding in self.watch.findings):
            for place, words in self.of_steps:
                self.found(524, place, **words)

    def _has_samples_first(self, given: torch.Tensor) -> bool:
        """Whether dimension 0 of an input is that of the samples, and not steps, of which there are as many."""
        return tuple(given.shape[:2]).count(given.shape[0]) == 1 or any(ref() is given for ref in self.batch)


def _is_wrong(at: int, rows: list[int], size: int) -> bool:
    """Some other samples changed. Where the sample itself and all others did, a statistic over the batch is meant."""
    others = [row for row in rows if row != at]
    return bool(others) and (at not in rows or len(others) < size - 1)


def _only_computes(model: nn.Module) -> bool:
    if registration._global_forward_hooks or is_compiled(model):
        return False
    for part in model.modules():
        hooks = [hook for table in _HOOKS for hook in getattr(part, table).values()]
        if any(not str(getattr(hook, "__module__", "")).startswith("torchsan") for hook in hooks):
            return False
        if isinstance(part, nn.parallel.DistributedDataParallel) or "forward" in part.__dict__ or is_compiled(part):
            return False
        if users_class(part) is not None and not pure(type(part).forward):
            return False
        if users_class(part) is None and not type(part).__module__.startswith("torch.nn"):
            return False
    return True


def _changes(model: nn.Module, args: tuple, kwargs: dict, size: int) -> tuple[dict[int, list[int]] | None, bool]:
    """By number of the sample that was replaced: the rows of the output that changed, and whether outputs are others when
    the samples come in another order. None where the output has no row for each sample, or is not the same twice."""
    with apart([model]), torch.no_grad():
        state = torch.get_rng_state()
        for part in model.modules():
            part.__dict__["training"] = False  # the stand-ins' end puts it back

        def run(rows: list[int] | None) -> torch.Tensor | None:
            torch.set_rng_state(state)
            result = model(*_replaced(args, size, rows), **_replaced(kwargs, size, rows))
            return next((t for t in tensors(result) if t.is_floating_point()), None)

        base = run(None)
        draws = not torch.equal(torch.get_rng_state(), state)  # noise would not be reordered with the samples
        again = run(None)
        if base is None or again is None or not base.dim() or base.shape[0] != size or not torch.equal(base, again):
            return None, False
        limit = _ROUNDING * base.abs().max()
        found = {}
        for at in (0, size // 2):
            rows = list(range(size))
            rows[at] = (at + 1) % size
            result = run(rows)
            if result is None or result.shape != base.shape:
                return None, False
            found[at] = ((result - base).abs() > limit).flatten(1).any(1).nonzero().flatten().tolist()
        if draws or all(len(rows) < size for rows in found.values()):
            return found, False
        order = [*range(1, size, 2), *range(0, size, 2)]
        result = run(order)
        return found, result is not None and bool(((result - base[order]).abs() > limit).any())


def _replaced(value: Any, size: int, rows: list[int] | None) -> Any:
    """Arguments in copy, in all of whose batches these samples stand in the places of the first, the second and so on."""
    if isinstance(value, torch.Tensor):
        value = value.detach().clone()
        return value[rows] if rows is not None and value.dim() and value.shape[0] == size else value
    if type(value) in (tuple, list):
        return type(value)(_replaced(item, size, rows) for item in value)
    if type(value) is dict:
        return {key: _replaced(item, size, rows) for key, item in value.items()}
    return value


CHECKS = (BatchMixing,)
