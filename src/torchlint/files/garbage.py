"""The garbage collector's share of a run: not while syntax trees grow, and before what is left behind fills the memory."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 600_000  # containers made and not freed since the last collection, some hundred MB


def only_if_much() -> None:
    """Leaves the garbage of this process, which must be ours, to `collect_if_much`. What is there at its end is not looked
    through by Python once more."""
    gc.disable()
    atexit.register(gc.freeze)


@contextmanager
def no_gc() -> Iterator[None]:
    """Holds the garbage collector while syntax trees are made: it would look at millions of nodes and free none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def collect_if_much() -> None:
    """Collects once there is much to look through. Counted in objects and not in bytes of source: what one file leaves behind
    depends on what it imports."""
    if gc.get_count()[0] > MANY:
        gc.collect()
