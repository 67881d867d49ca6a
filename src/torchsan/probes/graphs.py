"""No event, but the end of them: what a recorded CUDA graph runs is unseen from then on, so that nobody could judge a
step. Recording also forbids what a look at a value does: it would end the program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torchsan.own import torch
from torchsan.stream.events import running
from torchsan.stream.patches import Patches


def install(patches: Patches) -> None:
    graph = getattr(torch.cuda, "graph", None)
    if graph is not None:
        patches.method(graph, "__enter__", _enter)


def _enter(original: Callable) -> Callable:
    def __enter__(self: Any) -> Any:
        # What torch.compile records runs inside of calls that are seen.
        if not _by_compiler():
            for watch in running():
                watch.go_blind("a CUDA graph is recorded, and what it does cannot be seen")
        return original(self)

    return __enter__


def _by_compiler() -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("torch._inductor"):
            return True
        frame = frame.f_back
    return False
