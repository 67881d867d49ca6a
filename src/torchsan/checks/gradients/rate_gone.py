"""111: a learning rate that is gone after the first pass, because its schedule is stepped for each batch; or, where nothing
tells of passes, one that has come down to a millionth, and training goes on for as long as that took."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchsan.check import Check
from torchsan.own import weakref
from torchsan.program.lines import line_of
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_GONE = 1.001e-3  # of the rate that a pass began with: a thousandth, and rounding
_LEAST = 4  # steps of a pass
_NOTHING = 1e-6  # of the rate that the schedule began with, where passes are not known
_LONG = 64  # steps before that is told
_WORDS = (
    "`{call}` comes once per batch: the learning rate falls from {start} to {end} within the first pass",
    "step it once per epoch, behind the loop over the batches, or take a decay that is as long as the training",
)
_WITHOUT_PASSES = (
    "`{call}` comes with every step: the learning rate falls from {start} to {end}, and training goes on",
    _WORDS[1],
)


class _Schedule:
    """A scheduler and the optimizer whose rate it moves. Its own counter tells of steps that were not heard."""

    def __init__(self, event: Event):
        self.made = event
        self.subject, self.optimizer = weakref.ref(event.subject), weakref.ref(event.optimizer)
        self.last: Event | None = None  # its last step that was heard
        self.first = self.now()
        self.gone: int | None = None  # its steps when next to nothing was left of the rate
        self.told = False

    def now(self) -> tuple[int, float] | None:
        """How often it was stepped, and the rate; None where either is not to be had."""
        scheduler, optimizer = self.subject(), self.optimizer()
        if scheduler is None or optimizer is None or not optimizer.param_groups:
            return None
        rate, count = optimizer.param_groups[0].get("lr"), getattr(scheduler, "last_epoch", None)
        return (count, float(rate)) if isinstance(count, int) and isinstance(rate, (int, float)) else None


class _Began(NamedTuple):
    """How things stood when a pass began."""

    step: int
    counts: dict[int, tuple[int, float]]  # by place of the schedule


class RateGone(Check):
    """A schedule has come to its end after the first of several passes."""

    numbers = (111,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.made: list[_Schedule] = []
        self.began: dict[int, _Began] = {}  # by id of a loader
        self.gone: dict[tuple[int, int], tuple[float, float, int]] = {}  # by loader and schedule: rates, steps

    def on_scheduler_create(self, event: Event) -> None:
        if event.optimizer is not None and len(self.made) < 64:
            event.where()
            self.made.append(_Schedule(event))

    def on_scheduler_step(self, event: Event) -> None:
        for made in self.made:
            if made.subject() is event.subject:
                made.last = event
                if not made.told and made.first is not None:
                    self._without_passes(made, *made.first)

    def _without_passes(self, made: _Schedule, before: int, start: float) -> None:
        now = made.now()
        if now is None or not 0 < now[1] <= _NOTHING * start:
            made.gone = None
            return
        count = now[0] - before
        if made.gone is None:
            made.gone = count
        elif count >= max(2 * made.gone, _LONG) and self.ledger.step >= count:  # a step of the optimizer for each of its own
            self._say(made, start, now[1], _WITHOUT_PASSES, f"{count - made.gone} steps since at less than a millionth of it")

    def on_loader_iterate(self, event: Event) -> None:
        if self.made:
            now = {at: state for at, made in enumerate(self.made) if (state := made.now()) is not None}
            self.began[id(event.subject)] = _Began(self.ledger.step, now)

    def on_loader_end(self, event: Event) -> None:
        key = id(event.subject)
        began = self.began.pop(key, None)
        steps = self.ledger.step - began.step if began is not None else 0
        if began is None or steps < _LEAST:
            return
        for at, (count, rate) in began.counts.items():
            made = self.made[at]
            now = made.now()
            if now is None:
                continue
            known = self.gone.pop((key, at), None)
            if known is not None and max(rate, now[1]) <= _GONE * known[0]:
                # It stayed so for a whole pass: no restart, no second cycle.
                self._say(made, known[0], known[1], _WORDS, f"{known[2]} batches; the second pass went by at that rate")
            elif known is None and now[0] - count >= steps and 0 < rate and now[1] <= _GONE * rate:
                self.gone[key, at] = rate, now[1], steps

    def _say(self, made: _Schedule, start: float, end: float, words: tuple[str, str], fact: str) -> None:
        made.told = True
        name = name_of(made.subject()) or "scheduler"
        place = made.last.where() if made.last is not None else None
        by_hand = place is not None and ".step" in line_of(place.code.co_filename, place.line)
        self.found(
            111, made.last if by_hand else made.made, words=words, call=f"{name}.step()", start=f"{start:.3g}",
            end=f"{end:.3g}", fact=fact, related=((made.made, "where its decay is given"),) if by_hand else (),
        )


CHECKS = (RateGone,)
