"""Numbers of a run over its steps: what the report draws, writers pass on, and checks compare with earlier ones.

    watch.series.record("time/loader", step, seconds)

Names are paths; what stands before the first slash says what a number is, and a report knows these:

| | |
|---|---|
| `loss/<name>` | the value that backward began at, unscaled |
| `learning rate/<optimizer>` | of its groups |
| `gradient norm/<optimizer>` | L2, over all its parameters, as the optimizer uses them |
| `gradients/<layer>`, `updates/<layer>`, `dead/<layer>`, `saturated/<layer>` | L2 norm of a layer's gradients; size \
of an update against that of the weights; share of units |
| `samples/<optimizer>` | samples that a step is made of: all its batches, on all ranks; the most of any step last |
| `time/<what>` | seconds lost: to a loader, to a synchronisation |
| `transfers/<what>` | bytes moved to the device |
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torchsan.own import math

MOST_POINTS = 512  # of a series; when it is full every two neighbours become one
MOST_SERIES = 2048  # names beyond that are not kept
_BRIEF = 128


class Line:
    """One series, in bounded memory: a point stands for one value or, in a long run, for several neighbours.

    Attributes:
        steps, means, lows, highs: of each point, the step of its first value, and the mean, least and largest value.
            A value that is not finite makes the mean so, and is left out of the other two.
        count, total: how many values there were, and the sum of the finite ones; exact, however long the run is.
        last: the newest value.
    """

    __slots__ = ("steps", "means", "lows", "highs", "count", "total", "last", "_width", "_inside")

    def __init__(self) -> None:
        self.steps, self.means = array("q"), array("d")
        self.lows, self.highs = array("d"), array("d")
        self.count = 0
        self.total = 0.0
        self.last = math.nan
        self._width = 1  # values of a full point
        self._inside = 0  # values of the newest one

    def add(self, step: int, value: float) -> None:
        """Take up one value."""
        self.count += 1
        self.last = value
        finite = math.isfinite(value)
        if finite:
            self.total += value
        low, high = (value, value) if finite else (math.inf, -math.inf)
        if 0 < self._inside < self._width:
            self._inside += 1
            self.means[-1] += (value - self.means[-1]) / self._inside
            self.lows[-1], self.highs[-1] = min(self.lows[-1], low), max(self.highs[-1], high)
            return
        if len(self.steps) >= MOST_POINTS:
            self._thin()
        self.steps.append(step)
        self.means.append(value)
        self.lows.append(low)
        self.highs.append(high)
        self._inside = 1

    def _thin(self) -> None:
        pairs = range(0, MOST_POINTS, 2)
        self.steps = self.steps[::2]
        self.means = array("d", [(self.means[at] + self.means[at + 1]) / 2 for at in pairs])
        self.lows = array("d", [min(self.lows[at], self.lows[at + 1]) for at in pairs])
        self.highs = array("d", [max(self.highs[at], self.highs[at + 1]) for at in pairs])
        self._width *= 2

    def points(self) -> Iterator[tuple[int, float, float, float]]:
        """Step, mean, least and largest value of each point."""
        return zip(self.steps, self.means, self.lows, self.highs)


class Series:
    """All series of one watch, by name. Whoever wants each value as it comes adds a function to `listeners`."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}
        self.seconds: float | None = None  # that the watch ran, where it is over
        self.listeners: list[Callable[[str, int, float], None]] = []

    def record(self, name: str, step: int, value: float) -> None:
        """Add a value to the series `name`; one that is not there yet begins."""
        line = self._lines.get(name)
        if line is None:
            if len(self._lines) >= MOST_SERIES:
                return
            line = self._lines[name] = Line()
        value = float(value)
        line.add(step, value)
        for listener in self.listeners:
            listener(name, step, value)

    def __getitem__(self, name: str) -> Line:
        return self._lines[name]

    def __contains__(self, name: str) -> bool:
        return name in self._lines

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def lines(self) -> Mapping[str, Line]:
        """All series by name, in the order in which they began."""
        return self._lines

    def of(self, kind: str) -> dict[str, Line]:
        """The series `kind/...`, by what stands behind the slash, in the order in which they began."""
        start = f"{kind}/"
        return {name[len(start):]: line for name, line in self._lines.items() if name.startswith(start)}

    def brief(self, kinds: Sequence[str] = ("loss", "gradient norm", "time", "transfers")) -> dict[str, Any]:
        """The series of these kinds in plain types and few points, for another process: see `lines_of`."""
        short = {}
        for name, line in self._lines.items():
            if name.partition("/")[0] in kinds:
                every = -(-len(line.steps) // _BRIEF) or 1
                short[name] = {
                    "steps": line.steps[::every].tolist(),
                    "means": [mean if math.isfinite(mean) else None for mean in line.means[::every]],
                    "count": line.count,
                    "total": line.total,
                }
        return short


def lines_of(brief: Mapping[str, Any]) -> dict[str, Line]:
    """The series that `Series.brief` was made of, as far as it tells."""
    lines = {}
    for name, told in brief.items():
        line = lines[name] = Line()
        for step, mean in zip(told["steps"], told["means"]):
            line.add(step, math.nan if mean is None else mean)
        line.count, line.total = told["count"], told["total"]
    return lines
