"""Which document is judged when: one at a time, what was typed into last before what is only renewed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable

Work = Callable[[str, threading.Event], Awaitable[bool]]


class Turns:
    """The documents that wait for their turn, by their names.

    Args:
        work: judges a document, and says whether that came to its end. The event tells it to stop: nobody waits for the answer
            any more, or somebody waits more for another one.
    """

    def __init__(self, work: Work):
        self._work = work
        self._soon: dict[str, None] = {}
        self._later: dict[str, None] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._now = ""
        self._renews = False
        self._stop = threading.Event()
        self._ended = False
        self._task: asyncio.Task[None] | None = None

    def after(self, name: str, seconds: float) -> None:
        """Judge a document once nothing has been typed into it for so long."""
        self._quiet(name)
        if name == self._now:
            self._stop.set()
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, self.at_once, name)

    def at_once(self, name: str) -> None:
        """Judge a document next."""
        self.drop(name)
        if name == self._now or self._renews:
            self._stop.set()
        self._soon[name] = None
        self._go_on()

    def renew(self, names: Iterable[str]) -> None:
        """Judge documents once nothing else is to be done: what others hold has changed."""
        for name in names:
            if name not in self._soon and name not in self._timers:
                self._later[name] = None
        self._go_on()

    def drop(self, name: str) -> None:
        """Do not judge a document: it was closed."""
        self._quiet(name)
        self._soon.pop(name, None)
        self._later.pop(name, None)

    def stop(self) -> None:
        """Judge nothing any more."""
        self._ended = True
        for name in list(self._timers):
            self._quiet(name)
        self._soon.clear()
        self._later.clear()
        self._stop.set()

    def _quiet(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _go_on(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._all())

    async def _all(self) -> None:
        while not self._ended and (self._soon or self._later):
            self._renews = not self._soon
            queue = self._soon or self._later
            # What was typed into last is what is looked at; renewals go in order.
            self._now = next(iter(queue)) if self._renews else next(reversed(queue))
            del queue[self._now]
            self._stop = threading.Event()
            if not await self._work(self._now, self._stop):
                self.renew([self._now])
            self._now, self._renews = "", False
