"""611: a loader is built anew, of the same parts, for each pass, and its worker processes with it."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchsan.check import Check
from torchsan.checks.data.passes import Pass, called
from torchsan.own import weakref
from torchsan.stream.events import Event

_TIMES = 3  # loaders of one line that were built in one training


class _Built(NamedTuple):
    training: int
    dataset: weakref.ref
    options: tuple
    times: int
    before: weakref.ref  # the loader that was built before this one


class LoaderRebuilt(Check):
    """The same DataLoader is built in every epoch."""

    numbers = (611,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.built: dict[tuple, _Built] = {}
        self.trained: set[tuple] = set()  # lines whose newest loader was trained on
        watch.passes.at_trained.append(self._trained)

    def on_loader_create(self, event: Event) -> None:
        loader, place = event.subject, event.where()
        # Without workers nothing is lost; another sampler or set of rows needs another loader.
        if place is None or not loader.num_workers or {"sampler", "batch_sampler"} & event.given:
            return
        key = (place.code, place.line)
        options = (loader.batch_size, loader.num_workers, loader.drop_last, type(loader.sampler))
        training = self.watch.passes.training
        try:
            dataset, here = weakref.ref(loader.dataset), weakref.ref(loader)
        except TypeError:
            return
        last = self.built.get(key)
        same = last is not None and (last.training, last.options) == (training, options)
        if last is None or not same or last.dataset() is not loader.dataset or key not in self.trained:
            last = _Built(training, dataset, options, 0, here)
        self.built[key] = now = last._replace(times=last.times + 1, before=here)
        self.trained.discard(key)
        if now.times == _TIMES:
            known = self.watch.passes.history(loader)
            self.found(
                611,
                event,
                loader=called(known, loader),
                fact=f"{_TIMES} times in this training, each with {loader.num_workers} worker "
                f"process{'es' if loader.num_workers > 1 else ''}",
            )

    def _trained(self, one: Pass) -> None:
        if one.trained == 1:
            self.trained.update(key for key, built in self.built.items() if built.before() is one.loader)


CHECKS = (LoaderRebuilt,)
