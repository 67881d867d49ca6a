"""The progress bar of a long run, on the terminal that standard error is, if it is one."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from torchlint.run.runner import Tick

# Nobody needs a bar for a run that is over before it is read.
_PATIENCE = 1.0
_BETWEEN = 0.1


class Bar:
    """Called with every Tick; shows nothing before a second has gone by, and leaves nothing behind."""

    def __init__(self, quiet: bool = False):
        self._wanted = not quiet and sys.stderr.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._bar: Any = None

    def __enter__(self) -> Bar:
        return self

    def __call__(self, tick: Tick) -> None:
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next = now + _BETWEEN
        if self._bar is None:
            self._bar = _make()
            self._bar.start()
            self._task = self._bar.add_task("judging", total=tick.total)
        self._bar.update(self._task, completed=tick.done, refresh=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _make() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    # Without auto_refresh there is no thread, so that dead workers can be replaced by a fork.
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True, auto_refresh=False,
    )
