"""820: an asynchronous transfer whose handle was dropped before anybody waited for it."""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.own import weakref
from torchsan.probes import distributed
from torchsan.program.where import _USER, Where, kind_of
from torchsan.stream.events import Event


class NotWaited(Check):
    """An asynchronous transfer is started, and nobody waits for it."""

    numbers = (820,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.dropped: list[tuple[str, Where | None, int]] = []
        self.refs: dict[int, weakref.ref] = {}

    def on_collective(self, event: Event) -> None:
        self._say()
        if event.kwargs and event.kwargs.get("async_op"):
            self._follow(event)

    def on_transfer(self, event: Event) -> None:
        self._say()
        self._follow(event)

    def on_optimizer_step(self, event: Event) -> None:
        if self.dropped:
            self._say()

    def finish(self) -> None:
        self._say()

    def _follow(self, event: Event) -> None:
        handle = event.result
        if handle is None or not _is_users_call():
            return  # torch's own algorithms keep the order of their streams by other means
        key, mark, place, call = id(handle), [False], event.where(), event.subject
        distributed.waited[key] = mark

        def is_gone(ref: Any) -> None:
            self.refs.pop(key, None)
            if distributed.waited.get(key) is mark:
                del distributed.waited[key]
            if not mark[0]:
                self.dropped.append((call, place, distributed.synchronized[0]))

        try:
            self.refs[key] = weakref.ref(handle, is_gone)
        except TypeError:
            distributed.waited.pop(key, None)

    def _say(self) -> None:
        while self.dropped:
            call, place, synchronized = self.dropped.pop(0)
            if synchronized == distributed.synchronized[0]:  # nor did anybody wait for the whole device
                self.found(820, place, call=call)


def _is_users_call() -> bool:
    """Whether the nearest frame outside of torch's replaced function is the user's."""
    frame: Any = sys._getframe(1)
    own = distributed.__file__  # what stands in the place of torch's function has more behind that: see `stream/patches.py`
    while frame is not None and not frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return frame is not None and kind_of(frame.f_code.co_filename) == _USER


CHECKS = (NotWaited,)
