"""What the live display shows: steps and their time, memory, curves, and what was found."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from torchlint.findings import Finding
from torchlint.report import place
from torchsan.own import io, math, os
from torchsan.report.page.numbers import short
from torchsan.report.series import Line

HEIGHT = 9
_CURVE_ROWS = 3
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a braille letter, row by row
_COLOURS = {"error": "red", "warning": "yellow", "note": "cyan"}


def lines_of(
    width: int, steps: int, seconds_a_step: float | None, series: Mapping[str, Line], findings: Sequence[Finding], base: str,
    colour: bool = True,
) -> list[str]:
    """The `HEIGHT` lines of the display, each `width` columns, with their colours as escape sequences.

    Args:
        steps: optimizer steps so far.
        seconds_a_step: how long one takes at present; None while that is not known.
        series: those of the watch by name.
        base: the folder that files are told from.
    """
    inner = max(20, width - 4)
    curves = [_curve(title, kind, series, 3 * inner // 11) for title, kind in (("loss", "loss/"), ("gradient norm", "gradient norm/"))]
    row = Table.grid(expand=True, padding=(0, 1))
    for ratio in (3, 3, 5):
        row.add_column(ratio=ratio, no_wrap=True, overflow="ellipsis")
    row.add_row(*curves, _found(findings, base))
    panel = Panel(
        row, title=_head(steps, seconds_a_step), title_align="left", subtitle=_memory(), subtitle_align="right", height=HEIGHT, width=width,
        box=box.ROUNDED, border_style="dim",
    )
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=colour, color_system="standard" if colour else None, legacy_windows=False).print(panel)
    return out.getvalue().splitlines()[:HEIGHT]


def _head(steps: int, seconds_a_step: float | None) -> Text:
    text = f"torchsan  step {steps:,}"
    if seconds_a_step:
        text += f"  {_time(seconds_a_step)} a step"
    return Text(text, style="bold")


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _memory() -> Text:
    """What torch has given out on this process's device, or what the process takes where there is none."""
    if "torch" in sys.modules:
        from torchsan.own import torch
    else:
        torch: Any = None
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        most = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
        return Text(f"GPU memory {torch.cuda.memory_allocated() / 2**30:.1f} of {most / 2**30:.0f} GiB")
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return Text(f"memory {int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB")
    except (OSError, AttributeError, ValueError):
        return Text("")


def _curve(title: str, kind: str, series: Mapping[str, Line], width: int) -> Text:
    """The first series of a kind, with its newest value; others by their newest values alone."""
    lines = {name[len(kind):]: line for name, line in list(series.items()) if name.startswith(kind)}
    text = Text(no_wrap=True, overflow="ellipsis")
    if not lines:
        return text.append(f"{title}\n", style="bold").append("not seen yet", style="dim")
    (name, line), *others = lines.items()
    text.append(title, style="bold").append(f"  {name} ", style="dim").append(short(line.last), style=_of_value(line.last)).append("\n")
    text.append("\n".join(braille(list(line.means), max(8, width - 2), _CURVE_ROWS)), style="blue")
    for name, line in others[:2]:
        text.append(f"\n{name} ", style="dim").append(short(line.last), style=_of_value(line.last))
    if len(others) > 2:
        text.append(f" and {len(others) - 2} more", style="dim")
    return text


def _of_value(value: float) -> str:
    return "" if math.isfinite(value) else "bold red"


def _found(findings: Sequence[Finding], base: str) -> Text:
    """How many findings there are, and the newest of them."""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("nothing found" if not findings else f"{len(findings)} finding{'s' if len(findings) > 1 else ''}", style="bold")
    for finding in list(findings)[: -(HEIGHT - 3) : -1]:
        at = place(finding.location)
        at = os.path.relpath(at, base) if os.path.isabs(at) and at.startswith(base) else at
        text.append(f"\n{finding.code}", style=_COLOURS.get(finding.severity.value, "")).append(f" {at} ")
        if finding.count > 1:
            text.append(f"{finding.count:,} times ", style="dim")
        text.append(finding.name, style="dim")
    return text


def braille(values: Sequence[float], width: int, rows: int) -> list[str]:
    """A curve in letters of 2 x 4 dots: `rows` lines of at most `width` letters, the newest value on the right.

    Several values of a dot's column are their mean; what is not finite leaves a gap.
    """
    columns = 2 * width
    share = max(1.0, len(values) / columns)
    means = []
    for at in range(min(columns, len(values))):
        part = [value for value in values[int(at * share) : max(int(at * share) + 1, int((at + 1) * share))] if math.isfinite(value)]
        means.append(sum(part) / len(part) if part else math.nan)
    known = [value for value in means if value == value]
    if not known:
        return [""] * rows
    low, high = min(known), max(known)
    letters = [[0] * ((len(means) + 1) // 2) for _ in range(rows)]
    for column, value in enumerate(means):
        if value == value:
            down = round((high - value) / ((high - low) or 1) * (4 * rows - 1)) if high > low else 2 * rows
            letters[down // 4][column // 2] |= _DOTS[down % 4][column % 2]
    return ["".join(chr(0x2800 + letter) for letter in row) for row in letters]
