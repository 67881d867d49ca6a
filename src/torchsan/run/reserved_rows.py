"""Rows at the bottom of a terminal that nothing else writes to: the rest scrolls above them.

The terminal does it (DECSTBM, a scroll region): what the program prints, its progress bars, its children and its debugger stay as they
are, and go where they went before. Nothing is redirected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchsan.own import os

SAVE, RESTORE = "\x1b7", "\x1b8"


class ReservedRows:
    """Keeps `height` rows of the terminal behind `stream`.

    Each draw is one write, so that it comes between two writes of the program and not into one.
    """

    def __init__(self, stream: TextIO, height: int):
        self._fd = stream.fileno()
        self._height = height
        self._size: os.terminal_size | None = None  # that the rows were kept for

    @property
    def columns(self) -> int:
        """The width of the terminal."""
        return os.get_terminal_size(self._fd).columns

    def fits(self) -> bool:
        """Whether as much is left for the program as is taken, and more."""
        return os.get_terminal_size(self._fd).lines >= 2 * self._height + 4

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines, none wider than the terminal; keep the rows first if they are not, or the terminal's size is another.

        Raises:
            OSError: the terminal has gone.
        """
        size = os.get_terminal_size(self._fd)
        text = "" if size == self._size else self._kept(size)
        top = size.lines - self._height + 1
        rows = "".join(f"\x1b[{top + at};1H\x1b[2K{line}" for at, line in enumerate(lines[: self._height]))
        self._write(f"{text}{SAVE}{rows}\x1b[0m{RESTORE}")

    def end(self) -> None:
        """Give the rows back, empty."""
        if self._size is None:
            return
        top, self._size = self._size.lines - self._height + 1, None
        self._write(f"{SAVE}\x1b[r\x1b[{top};1H\x1b[J{RESTORE}")

    def _kept(self, size: os.terminal_size) -> str:
        """What makes the terminal scroll above the rows only; the cursor may stand where they will be, so it is moved up first."""
        first, self._size = self._size is None, size
        room = "\n" * self._height + f"\x1b[{self._height}A" if first else f"{SAVE}\x1b[r\x1b[J{RESTORE}"
        return f"{room}{SAVE}\x1b[1;{size.lines - self._height}r{RESTORE}"

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._fd, data):]
