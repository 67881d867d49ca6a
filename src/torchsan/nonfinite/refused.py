"""Where the NaN comes from for which torch refused to compute a loss: the lines that lead to the call, run again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FrameType

from torch import nn

from torchsan.nonfinite import replay, rerun
from torchsan.program.where import _USER, Where, kind_of
from torchsan.stream.forward_start import Remembered

_CALLERS = 3  # functions of the user's that are looked at, from the call outwards


def from_lines(frame: FrameType | None, modules: list[nn.Module], forwards: Sequence[Remembered]) -> replay.Outcome:
    """What came of it in the innermost function whose lines make the NaN themselves.

    Args:
        frame: where the loss was refused, still running.
    """
    outcome = replay.Outcome(None, "its lines could not be run again")
    for running in _users(frame):
        lines = rerun.lines_of(running, Where(running.f_code, running.f_lasti, running.f_lineno))
        if lines is not None:
            outcome = replay.run(lines.run, modules, forwards, lines.inputs(), refused=True)
            if outcome.origin is not None and outcome.origin.external is None:
                break
    return outcome


def _users(frame: FrameType | None) -> Iterator[FrameType]:
    found = 0
    while frame is not None and found < _CALLERS:
        if kind_of(frame.f_code.co_filename) == _USER:
            found += 1
            yield frame
            if frame.f_code.co_name == "<module>":
                return  # what is further out runs the program, and is none of it
        frame = frame.f_back
