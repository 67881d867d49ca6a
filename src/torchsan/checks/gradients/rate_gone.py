"""111: a learning rate that is gone after the first pass, because its schedule is stepped for each batch."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchsan.check import Check
from torchsan.own import weakref
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_GONE = 1.001e-3  # of the rate that a pass began with: a thousandth, and rounding
_LEAST = 4  # steps of a pass
_WORDS = (
    "`{call}` comes once per batch: the learning rate falls from {start} to {end} within the first pass",
    "step it once per epoch, behind the loop over the batches, or take a decay that is as long as the training",
)


class _Schedule:
    """A scheduler and the optimizer whose rate it moves. Its own counter tells of steps that were not heard."""

    def __init__(self, event: Event):
        self.made = event
        self.subject, self.optimizer = weakref.ref(event.subject), weakref.ref(event.optimizer)
        self.last: Event | None = None  # its last step that was heard

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
                self._say(made, known)  # it stayed so for a whole pass: no restart, no second cycle
            elif known is None and now[0] - count >= steps and 0 < rate and now[1] <= _GONE * rate:
                self.gone[key, at] = rate, now[1], steps

    def _say(self, made: _Schedule, known: tuple[float, float, int]) -> None:
        start, end, steps = known
        name = name_of(made.subject()) or "scheduler"
        self.found(
            111, made.last or made.made, words=_WORDS, call=f"{name}.step()", start=f"{start:.3g}", end=f"{end:.3g}",
            fact=f"{steps} batches; the second pass went by at that rate",
            related=((made.made, "where its decay is given"),) if made.last is not None else (),
        )


CHECKS = (RateGone,)
