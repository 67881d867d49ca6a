"""Charts as inline SVG: lines over steps with findings marked, and a map of layers. Colours come from the page's style.

Everything that is not a number is escaped here: the page takes what it is given as it is. Drawn by hand: a library for charts
would be one more thing to install beside the user's torch, and most bring megabytes of script. `page.js` reads the `data-` attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from torchsan.own import math
from torchsan.report.page.numbers import short, told_apart
from torchsan.report.series import Line

_WIDTH, _HEIGHT = 760, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 18, 26
_COLOURS = 6  # line colours in the style
MOST_LINES = 6
_ROWS, _COLUMNS, _LEVELS = 64, 56, 10
_ROW, _NAME = 15, 210


class Mark(NamedTuple):
    """A finding on the axis of steps: where it leads, and its severity."""

    step: int
    label: str
    anchor: str
    severity: str


def plot(lines: Mapping[str, Line], marks: Sequence[Mark] = (), name: str = "", linear: bool = False) -> Markup:
    """Lines over steps; a band shows the least and largest value where a point stands for several. The scale is
    logarithmic where the values are positive and span more than two orders of magnitude, unless it is to be `linear`.
    Empty where nothing is finite.
    """
    shown = {key: _points(line) for key, line in list(lines.items())[:MOST_LINES]}
    shown = {key: points for key, points in shown.items() if points}
    if not shown:
        return Markup("")
    every = [value for points in shown.values() for point in points for value in point[1:]]
    first = min(points[0][0] for points in shown.values())
    last = max(max(points[-1][0] for points in shown.values()), first + 1)
    low, high = min(every), max(every)
    if low == high:
        low, high = low - (abs(low) / 2 or 1), high + (abs(high) / 2 or 1)
    logarithmic = not linear and low > 0 and high / low > 100
    ticks = _powers(low, high) if logarithmic else _round_ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def x(step: float) -> float:
        return _LEFT + (step - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        if logarithmic:
            at = math.log(value / low) / (math.log(high / low) or 1)
        else:
            at = (value - low) / ((high - low) or 1)
        return _HEIGHT - _BOTTOM - at * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(name)} over steps" '
        f'data-area="{_LEFT} {_WIDTH - _RIGHT} {_TOP} {_HEIGHT - _BOTTOM}" data-first="{first}" data-last="{last}" '
        f'data-low="{low!r}" data-high="{high!r}" data-scale="{"log" if logarithmic else "linear"}">',
    ]
    for value, label in zip(ticks, told_apart(ticks)):
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>'
        )
    steps = [step for step in _round_ticks(first, last) if first <= step <= last and step == int(step)]
    parts.append('<g class="steps">')
    for step in steps:
        parts.append(
            f'<text class="tick" x="{x(step):.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{int(step):,}</text>'
        )
    # An svg of its own cuts off what lies outside of it, once a part is looked at closer.
    width = _WIDTH - _LEFT - _RIGHT
    parts.append(
        f'</g><svg class="area" x="{_LEFT}" y="0" width="{width}" height="{_HEIGHT}" viewBox="{_LEFT} 0 {width} {_HEIGHT}">'
    )
    for number, (key, points) in enumerate(shown.items()):
        colour = f"c{number % _COLOURS}"
        if any(point[2] < point[3] for point in points):
            edge = [(x(p[0]), y(p[3])) for p in points] + [(x(p[0]), y(p[2])) for p in reversed(points)]
            parts.append(f'<polygon class="band {colour}" points="{_path(edge)}"/>')
        path = [(x(step), y(mean)) for step, mean, _, _ in points]
        if len(path) == 1:
            parts.append(f'<circle class="dot {colour}" cx="{path[0][0]:.1f}" cy="{path[0][1]:.1f}" r="3"/>')
        else:
            parts.append(f'<polyline class="{colour}" data-name="{escape(key)}" points="{_path(path)}"/>')
    parts.append('</svg><g class="marks">')
    parts += [_mark(mark, x(min(max(mark.step, first), last))) for mark in _apart(marks, last - first)]
    return Markup("".join([*parts, "</g></svg>"]))


def _points(line: Line) -> list[tuple[int, float, float, float]]:
    return [
        (step, mean, min(low, mean), max(high, mean))
        for step, mean, low, high in line.points() if math.isfinite(mean) and low <= high
    ]


def _mark(mark: Mark, x: float) -> str:
    anchor = "start" if x < _WIDTH - 60 else "end"
    return (
        f'<a href="#{escape(mark.anchor)}" data-step="{mark.step}"><line class="mark {escape(mark.severity)}" x1="{x:.1f}" x2="{x:.1f}" '
        f'y1="{_TOP - 4}" y2="{_HEIGHT - _BOTTOM}"/><text class="mark {escape(mark.severity)}" x="{x:.1f}" '
        f'y="{_TOP - 7}" text-anchor="{anchor}">{escape(mark.label)}</text></a>'
    )


def _apart(marks: Sequence[Mark], span: int) -> list[Mark]:
    """Marks so far from each other that their labels can be read; neighbours become one, with how many they are."""
    kept: list[tuple[Mark, int]] = []
    for mark in sorted(marks, key=lambda mark: mark.step):
        if kept and mark.step - kept[-1][0].step < span * 0.09:
            kept[-1] = (kept[-1][0], kept[-1][1] + 1)
        else:
            kept.append((mark, 0))
    return [mark._replace(label=f"{mark.label} +{more}") if more else mark for mark, more in kept]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _round_ticks(low: float, high: float) -> list[float]:
    """Round numbers from below `low` to above `high`, about five."""
    span = (high - low) or abs(high) or 1.0
    unit = 10.0 ** math.floor(math.log10(span / 4))
    unit = next(unit * times for times in (1, 2, 5, 10) if span / (unit * times) <= 5)
    start, end = math.floor(low / unit + 1e-9), math.ceil(high / unit - 1e-9)
    return [at * unit for at in range(start, max(end, start + 1) + 1)]


def _powers(low: float, high: float) -> list[float]:
    start, end = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**power for power in range(start, end + 1, max(1, (end - start) // 5))]


def heat_map(lines: Mapping[str, Line], name: str = "") -> Markup:
    """A row for each layer, steps from left to right, the brighter the larger: on a logarithmic scale that all rows
    share. Of more than 64 layers every so many are shown. Empty where nothing is positive."""
    rows = {key: [point for point in line.points() if 0 < point[1] < math.inf] for key, line in lines.items()}
    rows = {key: points for key, points in rows.items() if points}
    rows = dict(list(rows.items())[:: -(-len(rows) // _ROWS) or 1])
    if not rows:
        return Markup("")
    values = [point[1] for points in rows.values() for point in points]
    low, high = min(values), max(values)
    columns = min(_COLUMNS, max(len(points) for points in rows.values()))
    first = min(points[0][0] for points in rows.values())
    last = max(points[-1][0] for points in rows.values())
    width = (_WIDTH - _NAME - _RIGHT) / columns
    height = len(rows) * _ROW + 24
    parts = [f'<svg class="heat" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(name)} by layer">']
    for at, (layer, points) in enumerate(rows.items()):
        y = at * _ROW
        parts.append(
            f'<g><title>{escape(layer)}: {short(points[0][1])} at first, {short(points[-1][1])} at last</title>'
            f'<text class="tick" x="{_NAME - 8}" y="{y + 11}" text-anchor="end">{escape(_fitting(layer))}</text>'
        )
        parts += _cells(points, y, columns, width, (first, last), (low, high))
        parts.append("</g>")
    label = f'<text class="tick" y="{height - 6}"'
    parts.append(f'{label} x="{_NAME}">step {first:,}</text>')
    parts.append(f'{label} x="{_WIDTH - _RIGHT}" text-anchor="end">{last:,}</text></svg>')
    return Markup("".join(parts))


def _cells(
    points: Sequence[tuple[int, float, float, float]], y: float, columns: int, width: float, span: tuple[int, int],
    ends: tuple[float, float],
) -> list[str]:
    """The cells of a row; neighbours of one colour are one. A column holds the last value that is known by then."""
    levels: list[int | None] = [None] * columns
    at, level = 0, None
    for column in range(columns):
        until = span[0] + (span[1] - span[0]) * (column + 1) / columns
        while at < len(points) and points[at][0] <= until:
            scale = math.log(ends[1] / ends[0])
            level = min(_LEVELS - 1, int(math.log(points[at][1] / ends[0]) / scale * _LEVELS)) if scale else _LEVELS - 1
            at += 1
        levels[column] = level
    parts, start = [], 0
    for column in range(1, columns + 1):
        if column == columns or levels[column] != levels[start]:
            if levels[start] is not None:
                parts.append(
                    f'<rect class="h{levels[start]}" x="{_NAME + start * width:.1f}" y="{y + 1}" '
                    f'width="{(column - start) * width:.1f}" height="{_ROW - 2}"/>'
                )
            start = column
    return parts


def _fitting(name: str) -> str:
    """A layer's name, its beginning left out where it is too long: what tells layers apart stands at the end."""
    if len(name) <= 30:
        return name
    end = name[-29:]
    return "…" + (end.partition(".")[2] or end)


def legend(lines: Mapping[str, Line]) -> list[tuple[str, str, str]]:
    """Of the lines that `plot` shows: the name, its colour's class, and the newest value."""
    shown = [(key, line) for key, line in list(lines.items())[:MOST_LINES] if _points(line)]
    return [(key, f"c{number % _COLOURS}", short(line.last)) for number, (key, line) in enumerate(shown)]
