"""The variables of a running frame, with no copy of them left behind.

Before Python 3.13, to read a frame's variables makes a dictionary that stays with the frame, and keeps what they hold alive: a
loss with its graph, a batch. So it is emptied again; not where the program has asked for it too, by `locals()`.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torchsan.own import inspect

_OURS = 3  # references to the dictionary: the frame's, the one below, and that of the question


def variables(frame: FrameType) -> list[Any]:
    """What a frame's variables hold."""
    space = frame.f_locals
    found = list(space.values())
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(space) <= _OURS:
        space.clear()
    return found
