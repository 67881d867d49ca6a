"""Where the NaN comes from that torch refuses to compute with: the lines that lead to the call, run again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import FrameType, TracebackType

from torch import nn

from torchsan.nonfinite import replay, rerun
from torchsan.own import re
from torchsan.program.where import _USER, Where, kind_of
from torchsan.stream.forward_start import Remembered

_CALLERS = 3  # functions of the user's that are looked at, from the call outwards
_SAYS = re.compile(r"probability tensor contains either `inf`, `nan`|to satisfy the constraint .*but found invalid values", re.DOTALL)
_Running = tuple[FrameType, Where]


def of_nan(error: BaseException) -> bool:
    """Whether an error is one that NaN may be the cause of: of a distribution, or of drawing from one."""
    return isinstance(error, (RuntimeError, ValueError)) and _SAYS.search(str(error)) is not None


def above(frame: FrameType | None) -> Iterator[_Running]:
    """The functions that are running, the innermost first."""
    while frame is not None:
        yield frame, Where(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back


def passed(way: TracebackType | None) -> list[_Running]:
    """The functions that an error has left, the innermost first."""
    found = []
    while way is not None:
        found.append((way.tb_frame, Where(way.tb_frame.f_code, way.tb_lasti, way.tb_lineno)))
        way = way.tb_next
    return found[::-1]


def again(functions: Iterable[_Running], modules: list[nn.Module], forwards: Sequence[Remembered]) -> replay.Outcome:
    """What came of it in the innermost function of the user's whose lines make the NaN themselves."""
    outcome = replay.Outcome(None, "its lines could not be run again")
    left = _CALLERS
    for frame, place in functions:
        if kind_of(place.code.co_filename) != _USER:
            continue
        lines = rerun.lines_of(frame, place)
        if lines is not None:
            outcome = replay.run(lines.run, modules, forwards, lines.inputs(), refused=True)
            if outcome.origin is not None and outcome.origin.external is None:
                break
        left -= 1
        if not left or place.code.co_name == "<module>":
            break  # what is further out runs the program, and is none of it
    return outcome
