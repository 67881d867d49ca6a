"""603, 609, 610: the same batches in the same order in every epoch, the first batch again and again, every batch once
from each worker. Judged by prints of batches (`fingerprints.py`), and by what the loader was built with.

Nothing is said where the order of the data can be meant: `shuffle=False` that was written down, a sampler of the
user's own, a model with recurrent layers, a training that begins anew with an optimizer of its own.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler

from torchsan.check import Check
from torchsan.checks.data.fingerprints import Print
from torchsan.checks.data.passes import PRINTS, Pass, called
from torchsan.own import re
from torchsan.report.printing import code_at
from torchsan.stream.events import Event

_VALUES = 32  # values of a tensor that are compared at least: a few labels are equal by chance
_AGAIN = 3  # passes that were left after one and the same batch
_GROUPS = 2  # rounds through the workers that are compared
_BY_HAND = re.compile(r"\biter\(")  # rather than by a `for`, which one leaves on purpose
_RESEEDED = (
    "`{loader}` shuffles, and all the same its batches come in the same order in every epoch: its random numbers start "
    "from the same seed each time",
    "seed once, before the first epoch; if each epoch is to have a seed of its own, let it depend on the epoch",
)
_IN_ORDER = (
    "`{loader}` gives the same batches in the same order in every epoch: `shuffle` is False unless it is passed",
    "pass `shuffle=True`, or `shuffle=False` if the order is meant",
)

Prints = list[tuple[Print | None, ...]]


class SameOrder(Check):
    """Training goes through the data in the same order in every epoch."""

    numbers = (603,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.passes.at_trained.append(self._trained)

    def _trained(self, one: Pass) -> None:
        if one.number and one.trained == one.batches == PRINTS:
            self._compare(one, PRINTS)

    def on_loader_end(self, event: Event) -> None:
        one = self.watch.passes.current(event.subject)
        if one is not None and one.number and 1 < one.batches < PRINTS and one.trained >= one.batches - 1:
            self._compare(one, one.batches)

    def _compare(self, one: Pass, count: int) -> None:
        loader = one.loader
        known = self.watch.passes.history(loader)
        before = next((other for other in known.passes if other.number == one.number - 1), None)
        if before is None or before.trained < count - 1 or not (words := self._suspect(loader)):
            return
        if same(before.prints[:count], one.prints[:count]):
            what = f"the first {count} batches" if count == PRINTS else f"all {count} batches"
            self.found(
                603,
                known.place(one.place),
                loader=called(known, loader),
                fact=f"{what} of passes {one.number} and {one.number + 1} are equal",
                related=((one.place, "training goes through it here"),),
                words=words,
            )

    def _suspect(self, loader: DataLoader) -> tuple[str, str] | None:
        """What would be wrong with the loader if its passes are equal; None where that may be meant."""
        given = self.watch.passes.history(loader).given
        if given("shuffle") is not False and not isinstance(loader.sampler, RandomSampler):
            return None
        if given("sampler") or given("batch_sampler") or isinstance(loader.dataset, IterableDataset):
            return None
        last = self.ledger.last_forward
        model = None if last is None else last.subject
        if isinstance(model, nn.Module) and any(isinstance(part, nn.RNNBase) for part in model.modules()):
            return None
        if isinstance(loader.sampler, RandomSampler):
            return _RESEEDED
        return _IN_ORDER if type(loader.sampler) is SequentialSampler else None


def same(one: Prints, other: Prints) -> bool:
    """Whether a tensor of the batches is equal in both passes, batch by batch, though batches differ from one another:
    pictures that are augmented differ, and their labels tell."""
    if len(one) != len(other) or not one or len({len(prints) for prints in (*one, *other)}) != 1:
        return False
    for at in range(len(one[0])):
        first, second = [prints[at] for prints in one], [prints[at] for prints in other]
        if None in first or None in second or sum(seen.count for seen in first) < _VALUES:
            continue
        keys = [seen.key for seen in first]
        if keys == [seen.key for seen in second] and len(set(keys)) == len(keys):
            return True
    return False


class FirstBatchOnly(Check):
    """Each training step takes the first batch of a new pass."""

    numbers = (609,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.passes.at_trained.append(self._trained)

    def _trained(self, one: Pass) -> None:
        if one.number >= _AGAIN - 1 and one.batches == 1 and one.trained == 1:
            self._look(one)

    def _look(self, one: Pass) -> None:
        loader = one.loader
        if type(loader.sampler) is not SequentialSampler or isinstance(loader.dataset, IterableDataset):
            return
        known = self.watch.passes.history(loader)
        passes = [other for other in known.passes if one.number - _AGAIN < other.number <= one.number]
        if len(passes) < _AGAIN or any(p.batches != 1 or p.trained != 1 or p.place != one.place for p in passes):
            return
        text = code_at(one.place)
        first = passes[0].prints[0]
        # No batch but the first one: of a loader that has only one, that is what the user means.
        if not _BY_HAND.search(text) or len(loader) < 2 or not first or any(
            None in p.prints[0] or [a.key for a in p.prints[0]] != [b.key for b in first] for p in passes
        ):
            return
        if any(seen.varied and seen.count >= _VALUES for seen in first):
            self.found(
                609,
                one.place,
                call=text,
                loader=called(known, loader),
                fact=f"{_AGAIN} steps in a row got the same batch, the first of {len(loader)}",
                related=((known.place(None), "the loader is built here"),),
            )


class NotSharded(Check):
    """Every worker of a loader goes through all of an iterable dataset."""

    numbers = (610,)

    def on_loader_batch(self, event: Event) -> None:
        loader = event.subject
        workers = loader.num_workers
        if workers < 2 or not isinstance(loader.dataset, IterableDataset):
            return
        one = self.watch.passes.current(loader)
        if one is None or one.batches != _GROUPS * workers or len(one.prints) != one.batches:
            return
        groups = [one.prints[at:at + workers] for at in range(0, one.batches, workers)]
        if _repeated(groups):
            known = self.watch.passes.history(loader)
            self.found(
                610,
                known.place(one.place),
                count=workers,
                dataset=type(loader.dataset).__name__,
                fact=f"batches 1 to {workers} of a pass are equal, and so are the next {workers}",
                related=((one.place, "the pass"),),
            )


def _repeated(groups: list[Prints]) -> bool:
    """Whether a tensor of the batches is the same all through a round of the workers, and another in each round."""
    if len({len(prints) for group in groups for prints in group}) != 1:
        return False
    for at in range(len(groups[0][0])):
        found = [[prints[at] for prints in group] for group in groups]
        if any(None in group for group in found) or sum(group[0].count for group in found) < _VALUES:
            continue
        rounds = [{seen.key for seen in group} for group in found]
        if all(len(keys) == 1 for keys in rounds) and len(set.union(*rounds)) == len(rounds):
            return True
    return False


CHECKS = (SameOrder, FirstBatchOnly, NotSharded)
