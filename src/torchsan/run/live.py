"""`torchsan run --live`: a display at the bottom of the terminal while the program trains."""

from __future__ import annotations

import sys
from typing import Any

from torchsan.own import os, threading, time
from torchsan.run.live_panel import HEIGHT, lines_of
from torchsan.run.reserved_rows import ReservedRows

_EVERY = 0.5  # seconds


def why_not(stream: Any) -> str | None:
    """Why there can be no display on a stream; None where there can."""
    if os.environ.get("RANK", "0") != "0":
        return ""  # the first rank has it; nothing is said of that
    try:
        if not stream.isatty():
            return "standard error is no terminal"
        stream.fileno()
    except (AttributeError, OSError, ValueError):
        return "standard error is no terminal"
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown", "") and sys.platform != "win32":
        return "the terminal cannot do it (TERM is dumb)"
    if not ReservedRows(stream, HEIGHT).fits():
        return f"the terminal has fewer than {2 * HEIGHT + 4} rows"
    return None


class Live:
    """Draws twice a second from a thread of its own, from the first optimizer step on; reads what the watch has, and no more.

    Args:
        san: the watch.
        base: the folder that files are told from.
    """

    def __init__(self, san: Any, base: str):
        self._san, self._base = san, base
        self._rows = ReservedRows(sys.stderr, HEIGHT)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="torchsan-live", daemon=True)
        self._pid = os.getpid()
        self._colour = "NO_COLOR" not in os.environ
        self._seen: list[tuple[float, int]] = []  # moments, and the steps by then

    def begin(self) -> None:
        """Draw from now on."""
        self._thread.start()

    def end(self) -> None:
        """Give the terminal back. In a process that was forked off it is another's."""
        self._over.set()
        if os.getpid() != self._pid:
            return
        self._thread.join(timeout=5)
        try:
            self._rows.end()
        except OSError:
            pass

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            try:
                if self._san.steps and self._rows.fits():
                    self._rows.draw(self._lines())
            except RuntimeError:  # a table grew while it was read: the next time will do
                continue
            except OSError:  # the terminal has gone
                return

    def _lines(self) -> list[str]:
        steps, findings = self._san.steps, self._san.findings
        return lines_of(self._rows.columns, steps, self._seconds_a_step(steps), self._san.series.lines, findings, self._base, self._colour)

    def _seconds_a_step(self, steps: int) -> float | None:
        """Over the last ten seconds."""
        now = time.monotonic()
        self._seen = [(moment, count) for moment, count in self._seen if now - moment < 10] + [(now, steps)]
        (begin, before), *_ = self._seen
        return (now - begin) / (steps - before) if steps > before else None
