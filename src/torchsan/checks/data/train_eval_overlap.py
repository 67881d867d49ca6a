"""616: a model is evaluated on samples that it was trained on.

Told by the indices of `Subset`, `random_split` and samplers over one dataset, or by prints of rows where the datasets
are different ones. What both loaders have in full is one dataset, and known to be. An evaluation that lies wholly
within the training data may be there to follow the training, beside another one: that is said at the end of the run,
and only where no evaluation was on other data.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
)

from torchsan.check import Check
from torchsan.checks.data.passes import Pass, called
from torchsan.own import weakref
from torchsan.program.where import Where
from torchsan.stream.events import Event

_LARGE = 1 << 18  # samples: to keep and compare the indices of more takes too much
_LOADERS = 8  # that are kept of each kind: a program may make its loaders anew in every epoch
_ROWS = 16  # rows that were read, at least
_SHARE = 0.4  # of an evaluation: some rows of a table occur twice, and a model may choose samples to be trained on
_WORDS = (
    "`{name}` evaluates the model on samples that it is trained on: {count}",
    "split the samples once, `random_split(data, [0.8, 0.2], generator=...)`, and give each loader a part of its own",
)
_WHOLE = (SequentialSampler, RandomSampler, DistributedSampler)


class _Data:
    """What a loader gives: samples of a dataset by index (`base`, held weakly), where that is known, and rows."""

    def __init__(self, loader: DataLoader, rows: list[int], place: Where | None):
        self.loader = weakref.ref(loader)
        base, self.indices = samples_of(loader)
        self.size = 0 if base is None else len(base)
        self.rows = set(rows)
        self.place, self.step = place, 0
        self.compared: list[_Data] = []  # the training data that it was compared with
        try:
            self._base = None if base is None else weakref.ref(base)
        except TypeError:  # a list
            self._base = None

    @property
    def base(self) -> Any:
        return None if self._base is None else self._base()

    def samples(self, by_index: bool) -> set[int]:
        """Indices, or prints of rows."""
        if not by_index:
            return self.rows
        return set(range(self.size)) if self.indices is None else self.indices


class Overlap(Check):
    """The loaders for training and for evaluation have samples in common."""

    numbers = (616,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.passes.wants_rows = True
        self.training = -1
        self.trained: list[_Data] = []
        self.evaluated: list[_Data] = []
        self.doubtful: list[tuple[_Data, _Data, str]] = []

    def on_loader_end(self, event: Event) -> None:
        one = self.watch.passes.current(event.subject)
        if one is None or not (one.trained or one.evaluated):
            return
        if self.training != self.watch.passes.training:  # a model may have been made anew: cross-validation
            self._judge()
            self.training, self.trained, self.evaluated = self.watch.passes.training, [], []
        loader = event.subject
        if one.trained:
            self.evaluated = [data for data in self.evaluated if data.loader() is not loader]
            self.doubtful = [both for both in self.doubtful if both[1].loader() is not loader]
            if all(data.loader() is not loader for data in self.trained):
                self.trained = [*self.trained[1 - _LOADERS:], self._data(one)]
        elif all(data.loader() is not loader for data in self.trained):
            test = next((data for data in self.evaluated if data.loader() is loader), None)
            if test is None:
                test = self._data(one)
                self.evaluated = [*self.evaluated[1 - _LOADERS:], test]
            # Only what was trained on before: samples may be chosen by a model, to be trained on afterwards.
            for train in self.trained:
                if train not in test.compared:
                    test.compared.append(train)
                    self._compare(train, test)

    def _data(self, one: Pass) -> _Data:
        known = self.watch.passes.history(one.loader)
        return _Data(one.loader, known.rows, known.place(one.place))

    def _compare(self, train: _Data, test: _Data) -> None:
        by_index = test.base is not None and test.base is train.base
        ours, theirs = train.samples(by_index), test.samples(by_index)
        count, of = len(ours & theirs), len(theirs)
        if ours == theirs or count < _SHARE * of or (of < _ROWS and not by_index) or not of:
            return
        test.step = self.ledger.step
        what = f"{count} of {of}" if by_index else f"{count} of {of} rows are the same"
        if ours < theirs or theirs < ours:
            self.doubtful.append((train, test, what))
        else:
            self._say(train, test, what)

    def _judge(self) -> None:
        """The training is over: say what is left, unless an evaluation was on other data, or may have been."""
        for train, test, what in self.doubtful:
            if all(any(seen is other for _, seen, _ in self.doubtful) for other in self.evaluated):
                self._say(train, test, what)
        self.doubtful = []

    def finish(self) -> None:
        self._judge()

    def _say(self, train: _Data, test: _Data, what: str) -> None:
        loader = test.loader()
        name = None if loader is None else called(self.watch.passes.history(loader), loader)
        self.found(
            616,
            test.place,
            step=test.step,
            name=name or "loader",
            count=what,
            related=((train.place, "the loader that it is trained on"),),
            words=_WORDS,
        )


def samples_of(loader: DataLoader) -> tuple[Any, set[int] | None]:
    """The dataset at the bottom of a loader, and which of its samples the loader gives (None: all of them). No dataset
    where that cannot be told."""
    dataset, sampler = loader.dataset, loader.sampler
    if type(loader.batch_sampler) not in (BatchSampler, type(None)):
        return None, None
    if loader.batch_sampler is not None:
        sampler = loader.batch_sampler.sampler
    chosen: Iterable[int] | None = None
    if isinstance(sampler, SubsetRandomSampler):
        chosen = [int(at) for at in sampler.indices]
    elif type(sampler) not in _WHOLE:
        return None, None
    while type(dataset) is Subset:
        inner = dataset.indices
        if len(inner) > _LARGE:
            return None, None
        chosen = [int(inner[at]) for at in (range(len(inner)) if chosen is None else chosen)]
        dataset = dataset.dataset
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__") or len(dataset) > _LARGE:
        return None, None
    return dataset, None if chosen is None else {at % len(dataset) for at in chosen}


CHECKS = (Overlap,)
