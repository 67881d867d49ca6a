"""What measures a watch against the bare step, in pairs: a block of steps, the watch, the machine that they ran on."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

import torchsan

LEAST = 3  # pairs of a figure


@contextmanager
def watch(model: torch.nn.Module) -> Iterator[None]:
    with torchsan.watch(model, on_finding="collect") as san:
        yield
    if san.off or san.findings:
        raise SystemExit(f"the watch is not silent: {san.report()}")


def block(step: Callable[[], None], count: int, before: int) -> float:
    """CPU seconds of a step, after `before` steps that are not counted."""
    for _ in range(before):
        step()
    start = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - start) / count


def machine() -> str:
    """The machine and the versions, in a line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    return (
        f"{model}, one thread; {platform.system()}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"torchsan {torchsan.__version__}"
    )
