"""Python's collector walks through all objects again and again while many are made: at the beginning of a watch over a large
model that would be half of the time. It waits while we are at work, and the program finds its thresholds as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torchsan.own import gc

_YOUNG = 200_000  # objects that are made before the next collection


@contextmanager
def patient() -> Iterator[None]:
    """Collections are rarer inside. Does nothing where the program has none, or even rarer ones."""
    before = gc.get_threshold()
    if not gc.isenabled() or not 0 < before[0] < _YOUNG:
        yield
        return
    ours = (_YOUNG, *before[1:])
    gc.set_threshold(*ours)
    try:
        yield
    finally:
        if gc.get_threshold() == ours:  # the program's own code may have run inside
            gc.set_threshold(*before)
