"""No pitfall: the passes over loaders, which the checks of data ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchsan.check import Check
from torchsan.checks.data import fingerprints
from torchsan.checks.data.fingerprints import Print
from torchsan.own import re, weakref
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.report import printing
from torchsan.report.deliver import SanError
from torchsan.stream.events import Event

PRINTS = 8  # batches at the beginning of a pass that are kept as prints
_PASSES = 6  # of a loader in one training: those that are looked at so closely
_MOST = 512  # prints of batches, of one loader in all: a program may begin a training in every iteration
_ASSIGNED = re.compile(r"\s*([A-Za-z_][\w.]*)\s*(?::[^=]+)?=(?!=)")
ROWS = 1 << 14  # of the first pass over a loader in one training


class Pass:
    """One pass over a loader.

    Attributes:
        number: which pass over this loader since the last optimizer was built, counted from 0.
        place: the user's line that began it.
        batches: given so far, as far as they were heard of (see `stream/resting_checks.py`).
        trained, evaluated: batches that a backward followed; that a model in evaluation mode was given, without.
        prints: of the first batches.
        ended: whether the loader gave everything.
    """

    def __init__(self, loader: Any, number: int, place: Where | None):
        self._loader = weakref.ref(loader)
        self.number = number
        self.place = place
        self.batches = self.trained = self.evaluated = 0
        self.prints: list[tuple[Print | None, ...]] = []
        self.ended = False
        self._fresh = False  # whether nothing happened to the last batch yet

    @property
    def loader(self) -> Any:
        return self._loader()


class History:
    """What is known of one loader. `made`: the event of its building, None where that was before the watch; `passes`:
    those since the last optimizer was built, the newest last, the first ones and no more than a few; `rows`: prints of
    the rows that the first of these gave, as many as `ROWS`."""

    def __init__(self, loader: Any, gone: Callable[[Any], None]):
        self.ref = weakref.ref(loader, gone)
        self.made: Event | None = None
        self.passes: list[Pass] = []
        self.rows: list[int] = []
        self.count = 0
        self.ever_trained = False
        self.prints_left, self.rows_left = _MOST, 2 * ROWS

    def given(self, option: str) -> bool | None:
        """Whether the loader was built with this option; None where nobody saw."""
        return None if self.made is None else option in self.made.given

    def place(self, default: Where | None) -> Where | None:
        """The line that built the loader, as far as that was seen."""
        return default if self.made is None else self.made.where() or default


class Passes(Check):
    """Keeps the passes over loaders; finds nothing by itself."""

    hears_first = True

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.passes = self
        self.training = 0  # counted by the optimizers that were built: a fresh one is a training of its own
        self._histories: dict[int, History] = {}
        self._open: dict[int, Pass] = {}  # the newest pass of each loader
        self.wants_rows = False  # whether any check reads prints of rows
        self.at_trained: list[Callable[[Pass], None]] = []  # told of each batch that a backward followed

    def history(self, loader: Any) -> History:
        """What is known of a loader."""
        known = self._histories.get(id(loader))
        if known is None or known.ref() is not loader:
            key = id(loader)
            known = self._histories[key] = History(loader, lambda ref: self._forget(key, ref))
        return known

    def current(self, loader: Any) -> Pass | None:
        """The newest pass over a loader."""
        return self._open.get(id(loader))

    def _forget(self, key: int, ref: Any) -> None:
        known = self._histories.get(key)
        if known is not None and known.ref is ref:
            del self._histories[key]
            self._open.pop(key, None)

    def on_loader_create(self, event: Event) -> None:
        event.where()
        self.history(event.subject).made = event

    def on_optimizer_create(self, event: Event) -> None:
        self.training += 1
        for known in self._histories.values():
            known.passes, known.rows, known.count = [], [], 0

    def on_loader_iterate(self, event: Event) -> None:
        loader = event.subject
        known = self.history(loader)
        one = self._open[id(loader)] = Pass(loader, known.count, event.where())
        known.count += 1
        if one.number < _PASSES:
            known.passes.append(one)

    def on_loader_batch(self, event: Event) -> None:
        one = self._open.get(id(event.subject))
        if one is None:
            return
        one.batches += 1
        one._fresh = True
        if one.number >= _PASSES:
            return
        known = self.history(event.subject)
        if known.prints_left and one.batches <= max(PRINTS, 2 * event.subject.num_workers + 1):
            known.prints_left -= 1
            one.prints.append(fingerprints.of_batch(event.batch))
        if one.number == 0 and len(known.rows) < ROWS and known.rows_left > 0 and self.wants_rows:
            rows = fingerprints.rows_of(event.batch)
            known.rows_left -= len(rows) + 1
            known.rows += rows

    def on_forward(self, event: Event) -> None:
        if event.grad or event.training or event.depth:
            return
        for one in self._open.values():
            if one._fresh and not one.trained:
                one._fresh = False
                one.evaluated += 1

    def on_backward(self, event: Event) -> None:
        for one in [one for one in self._open.values() if one._fresh]:
            one._fresh = False
            one.trained += 1
            if (loader := one.loader) is not None:
                self.history(loader).ever_trained = True
                self._tell(one)

    def _tell(self, one: Pass) -> None:
        for look in list(self.at_trained):
            try:
                look(one)
            except SanError:
                raise
            except Exception as error:
                self.at_trained.remove(look)
                self.watch.switch_off(look.__self__, error)  # type: ignore[attr-defined]

    def on_loader_end(self, event: Event) -> None:
        one = self._open.get(id(event.subject))
        if one is not None:
            one.ended = True
            one._fresh = False


def called(known: History, loader: Any) -> str | None:
    """What the user calls a loader: now, or on the line that built it."""
    name = name_of(loader)
    if name is None and known.made is not None and (place := known.made.where()) is not None:
        match = _ASSIGNED.match(printing.source_line(place.location()) or "")
        name = None if match is None else match[1]
    return name


CHECKS = (Passes,)
