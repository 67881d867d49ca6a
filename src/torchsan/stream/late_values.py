"""Values of a device, read when they are there: a check must not make the host wait for the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from torchsan.own import torch
from torchsan.stream.events import Event

_PATIENCE = 64  # questions in flight; beyond that the oldest is waited for, so that memory stays bounded


class Late:
    """Questions to a device, answered in order. One per watch; it hears steps to see what has arrived meanwhile."""

    def __init__(self) -> None:
        self.watch: Any = None
        self._waiting: deque[tuple[torch.Tensor, Any, Any, Callable[[Any], None]]] = deque()

    def ask(self, check: Any, value: torch.Tensor, answer: Callable[[Any], None]) -> None:
        """Call `answer` with `value` (a tensor on any device) as a Python number, or as a list where it has not one
        element: at once on the CPU, otherwise at a later step, when the copy has arrived. An error in `answer` switches
        off `check`."""
        if value.device.type == "cpu":
            answer(_plain(value))
            return
        with torch.no_grad():
            if value.device.type == "cuda":
                host = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
                host.copy_(value.detach(), non_blocking=True)
                arrived = torch.cuda.Event()
                arrived.record(torch.cuda.current_stream(value.device))
            else:
                host, arrived = value.detach(), None
        self._waiting.append((host, arrived, check, answer))

    def on_optimizer_step(self, event: Event) -> None:
        """Answer what has arrived."""
        self._answer(wait=False)

    def start(self) -> None: ...

    def finish(self) -> None:
        """Answer everything, waiting for the device."""
        self._answer(wait=True)

    def _answer(self, wait: bool) -> None:
        while self._waiting:
            host, arrived, check, answer = self._waiting[0]
            if not wait and len(self._waiting) <= _PATIENCE:
                if arrived is None or not arrived.query():
                    return
            self._waiting.popleft()
            if arrived is not None:
                arrived.synchronize()
            try:
                answer(_plain(host))
            except Exception as error:
                from torchsan.report.deliver import SanError

                if isinstance(error, SanError):
                    raise
                self.watch.switch_off(check, error)


def _plain(value: torch.Tensor) -> Any:
    return value.item() if value.numel() == 1 else value.tolist()
