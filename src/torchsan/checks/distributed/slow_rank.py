"""825: one rank works longer than the others in each step, and they wait for it.

What a rank does by itself is the time from its optimizer's step to the backward in which DistributedDataParallel sends
gradients, the collectives in between left out: there, and in that backward, it waits for the others.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from torch.nn.parallel import DistributedDataParallel

from torchsan.checks.distributed.rank_shares import Shared
from torchsan.own import time
from torchsan.ranks.message_board import Board
from torchsan.stream.events import Event

_STEPS = 16  # of which a rank leaves the medians
_FIRST = 3  # steps that start things, and are not counted
_TIMES = 3  # in a row that the same rank is the slow one
_FACTOR = 1.5  # of the time that the next slowest takes
_SHARE = 0.1  # of a whole step: less is not worth a word
_LEAST = 0.002  # seconds
PARTS = {"loader": "waits for its loader", "forward": "is in the forward", "rest": "is at work between batches and passes"}


class SlowRank(Shared):
    """The others wait for one rank."""

    numbers = (825,)
    kind = "pace"

    def __init__(self, watch: Any, clock: Callable[[], float] = time.monotonic):
        super().__init__(watch)
        self.clock = clock
        self.since: float | None = None  # when this rank was done with its last step
        self.parts = {"loader": 0.0, "forward": 0.0}
        self.away = 0.0  # in collectives since then
        self.open: dict[str, float] = {}  # what is going on, and since when
        self.steps: list[dict[str, float]] = []
        self.seen = 0
        self.slow: list[tuple[int, str]] = []  # by window: the rank, and its part
        self.places: dict[str, Event] = {}

    @property
    def always(self) -> bool:  # type: ignore[override]
        """A process that is alone has nobody to wait for."""
        return self.watch.me is not None

    def on_loader_batch(self, event: Event) -> None:
        if self.since is not None:
            self.parts["loader"] += event.waited or 0.0
            self._place("loader", event)

    def before_forward(self, event: Event) -> None:
        if isinstance(event.subject, DistributedDataParallel) and event.grad and self.watch.me is not None:
            self.open["forward"] = self.clock()
            self._place("forward", event)

    def on_forward(self, event: Event) -> None:
        if isinstance(event.subject, DistributedDataParallel) and "forward" in self.open:
            self.parts["forward"] += self.clock() - self.open.pop("forward")

    def before_collective(self, event: Event) -> None:
        if event.subject == "backward":
            self._ready(event)
        elif event.subject != "forward":
            self.open["collective"] = self.clock()

    def on_collective(self, event: Event) -> None:
        if "collective" in self.open:
            self.away += self.clock() - self.open.pop("collective")

    def on_optimizer_step(self, event: Event) -> None:
        if self.watch.me is not None:
            now = self.clock()
            self.seen += 1
            self.open["step"] = self.open.get("end", now)
            self.open["end"] = now
            if self.steps and "whole" not in self.steps[-1]:
                self.steps[-1]["whole"] = now - self.open["step"]
                if len(self.steps) == _STEPS:
                    self._leave_steps(event)
            self.since, self.away = now, 0.0
            self.parts = dict.fromkeys(self.parts, 0.0)

    def _ready(self, event: Event) -> None:
        """A backward has come to the wrapper's output: from here on this rank may be waiting."""
        if self.since is None or self.seen < _FIRST:
            return
        self._place("rest", event)
        own = self.clock() - self.since - self.away
        rest = max(0.0, own - sum(self.parts.values()))
        self.steps.append({**self.parts, "rest": rest})
        self.since = None  # the backwards of an accumulation that follow belong to no step of their own

    def _place(self, part: str, event: Event) -> None:
        if part not in self.places:
            event.where()
            self.places[part] = event

    def _leave_steps(self, event: Event) -> None:
        steps, self.steps = self.steps, []
        names = (*PARTS, "whole")
        event.where()
        self.leave({name: median(step[name] for step in steps) for name in names}, event)

    def compare(self, board: Board) -> None:
        if len(self.slow) < _TIMES or len(set(self.slow[-_TIMES:])) > 1:
            super().compare(board)

    def judge(self, sides: dict[int, Any], event: Event) -> None:
        """Say it in the rank that is slow, where its lines are known."""
        own = {rank: sum(times[part] for part in PARTS) for rank, times in sides.items()}
        slow = max(own, key=lambda rank: own[rank])
        others = [rank for rank in own if rank != slow]
        next_one = max(own[rank] for rank in others)
        lost = own[slow] - next_one
        if own[slow] < _FACTOR * next_one or lost < max(_LEAST, _SHARE * sides[slow]["whole"]):
            self.slow.clear()
            return
        more = {part: sides[slow][part] - median(sides[rank][part] for rank in others) for part in PARTS}
        part = max(more, key=lambda name: more[name])
        self.slow.append((slow, part))
        if len(self.slow) < _TIMES or len(set(self.slow[-_TIMES:])) > 1 or self.watch.me is None or self.watch.me.rank != slow:
            return
        self.found(
            825, self.places.get(part, event), key=("slow", slow), rank=slow, part=PARTS[part],
            fact=f"{_seconds(own[slow])} of each step, the next one {_seconds(next_one)}; {_seconds(more[part])} more "
                 f"than the others in this part, in {_TIMES * _STEPS} steps",
            details={"rank": slow, **{name: round(value, 6) for name, value in sides[slow].items()}},
        )


def _seconds(value: float) -> str:
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.2g} s"


CHECKS = (SlowRank,)
