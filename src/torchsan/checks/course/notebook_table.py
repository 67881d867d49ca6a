"""In a notebook, a table below the cell that began the watch: how far the run is, its newest numbers, what was found.

It is drawn anew as values come, but not more often than twice a second, and a last time when the watch ends. With
`on_finding="collect"` nothing is shown. Finds nothing by itself.
"""

from __future__ import annotations

import sys
from html import escape
from typing import Any

from torchlint.report import place
from torchsan.check import Check
from torchsan.own import os, time
from torchsan.report import printing
from torchsan.report.page.numbers import short

_PAUSE = 0.5  # seconds between two drawings
_KINDS = ("loss", "gradient norm", "learning rate")
_FINDINGS = 12  # rows for these


class _Table:
    """What is displayed: HTML in a notebook, text where that cannot be shown."""

    def __init__(self, steps: int, numbers: list[tuple[str, str]], found: list[tuple[str, ...]], more: int):
        self.steps, self.numbers, self.found, self.more = steps, numbers, found, more

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name} {value}" for name, value in self.numbers)
        lines = [f"torchsan: {printing.counted(self.steps, 'optimizer step')}{', ' if numbers else ''}{numbers}"]
        return "\n".join([*lines, *("  ".join(row) for row in self.found)])

    def _repr_html_(self) -> str:
        steps = printing.counted(self.steps, "optimizer step")
        found = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.found
        )
        more = f"<tr><td>and {self.more} more</td></tr>" if self.more else ""
        numbers = "".join(f" · {escape(name)} <b>{escape(value)}</b>" for name, value in self.numbers)
        body = f"<table>{found}{more}</table>" if found else "<div>nothing found so far</div>"
        return f"<div><b>torchsan</b> · {steps}{numbers}</div>{body}"


class NotebookTable(Check):
    """Shows the course of the run in a notebook."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.handle: Any = None
        self.drawn = 0.0
        self.process = os.getpid()

    def start(self) -> None:
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if getattr(shell, "kernel", None) is None or self.watch.options.on_finding == "collect":
            return
        from IPython.display import display

        self.handle = display(self._table(), display_id=True)
        self.watch.series.listeners.append(self._hear)

    def finish(self) -> None:
        if self._hear in self.watch.series.listeners:
            self.watch.series.listeners.remove(self._hear)
            self._draw()

    def _hear(self, name: str, step: int, value: float) -> None:
        if time.monotonic() - self.drawn >= _PAUSE and os.getpid() == self.process:
            try:
                self._draw()
            except Exception as error:  # the notebook's own matter; the run does not depend on it
                self.watch.series.listeners.remove(self._hear)
                self.watch.switch_off(self, error)

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        if self.handle is not None:
            self.handle.update(self._table())

    def _table(self) -> _Table:
        numbers = [
            (name if name == kind else f"{kind} of {name}", short(line.last))
            for kind in _KINDS for name, line in list(self.watch.series.of(kind).items())[:2]
        ]
        findings = self.watch.findings
        found = [
            (f.code, f.name, place(f.location), printing.how_often(f))
            for f in printing.shortened(findings[:_FINDINGS], os.getcwd())
        ]
        return _Table(self.watch.steps, numbers, found, len(findings) - len(found))


CHECKS = (NotebookTable,)
