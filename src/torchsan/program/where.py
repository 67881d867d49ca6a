"""The user's line: the innermost frame that is neither torch's, nor ours, nor a library's."""

from __future__ import annotations

import sys
import sysconfig
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple

from torchlint.findings import Location
from torchsan.own import os, torch
from torchsan.program import cells

_USER, _HELPER, _OURS = 0, 1, 2
_places: dict[tuple[int, int], Where] = {}  # those asked for
_codes: dict[tuple[int, int], CodeType] = {}  # whose they are: as long as they are held, nothing else can come to have their ids
_MANY = 4096  # of these: code that is made anew all the time must not pile up
_kinds: dict[str, int] = {}  # by co_filename: a frame walk must cost a dictionary look-up a frame
_OWN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep)
_STANDARD = tuple({sysconfig.get_path(key) + os.sep for key in ("stdlib", "platstdlib")})
_HELPERS = (*_STANDARD, *{sysconfig.get_path(key) + os.sep for key in ("purelib", "platlib")})
_PACKAGES = f"{os.sep}site-packages{os.sep}"
_TYPED = ("<stdin>", "<string>", "<ipython-input", "<doctest", cells.TIMED)  # text without a file that is still the user's


class Where(NamedTuple):
    """A place in running code, cheap to take (about 1 µs) and turned into a Location only when something is found."""

    code: CodeType
    instruction: int
    line: int

    def location(self) -> Location:
        """The place as a Location; columns where Python keeps them (3.11 and later)."""
        positions = getattr(self.code, "co_positions", None)
        if positions is not None and self.instruction >= 0:
            for at, position in enumerate(positions()):
                if at == self.instruction // 2:
                    row, end_row, column, end_column = position
                    if row == self.line and column is not None and end_column is not None:
                        return Location(self.code.co_filename, row, column + 1, end_row, end_column + 1)
                    break
        return Location(self.code.co_filename, self.line)


NOWHERE = Location("<unknown>", 1)


def kind_of(filename: str) -> int:
    """0 for the user's own code, 1 for the standard library and installed packages, 2 for torch and torchsan."""
    kind = _kinds.get(filename)
    if kind is None:
        if filename.startswith(_OWN):
            kind = _OURS
        elif filename.startswith("<"):
            kind = _USER if filename.startswith(_TYPED) else _OURS
        elif filename.startswith(_HELPERS) or _PACKAGES in filename:
            kind = _HELPER
        else:
            kind = _USER
        _kinds[filename] = kind
    return kind


def is_standard(filename: str) -> bool:
    """Whether a file is one of Python's own library."""
    return filename.startswith(_STANDARD) and _PACKAGES not in filename


def here(frame: FrameType | None = None) -> Where | None:
    """The user's line that is being executed, seen from `frame` (the caller's where none is given).

    Where every frame is a library's (a training loop inside an installed package), the innermost one outside torch and
    torchsan. None on a thread that runs no Python of the user's, such as autograd's own for a GPU.
    """
    if frame is None:
        frame = sys._getframe(1)
    fallback = None
    while frame is not None:
        kind = _kinds.get(frame.f_code.co_filename)
        if kind is None:
            kind = kind_of(frame.f_code.co_filename)
        if kind == _USER:
            return _place(frame)
        if kind == _HELPER and fallback is None:
            fallback = frame
        frame = frame.f_back
    return None if fallback is None else _place(fallback)


def _place(frame: FrameType) -> Where:
    """Where a frame is. A training loop is at few places, again and again, and to count lines is dear."""
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    place = _places.get(key)
    if place is None:
        if len(_places) > _MANY:
            _places.clear()
            _codes.clear()
        place = _places[key] = _as_typed(code, frame.f_lasti, frame.f_lineno)
        _codes[key] = code
    return place


def _as_typed(code: CodeType, instruction: int, line: int) -> Where:
    typed = cells.as_typed(code)
    return Where(typed, instruction, line + cells.rows_above(code, typed))


def of_traceback(traceback: TracebackType | None) -> Where | None:
    """The innermost line of the user's on the way of an exception."""
    best = fallback = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        kind = kind_of(code.co_filename)
        if kind != _OURS:
            place = _as_typed(code, traceback.tb_lasti, traceback.tb_lineno)
            if kind == _USER:
                best = place
            else:
                fallback = place
        traceback = traceback.tb_next
    return best or fallback
