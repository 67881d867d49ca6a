"""Reads files of trees that are not trusted: a pipe in the place of a file would never end, a device would fill the memory."""

from __future__ import annotations

import errno
import os
import stat

# More than any source or notebook, outputs and all, that can be judged.
MOST_BYTES = 300_000_000
# Folders of what was installed or made, not written.
NO_SOURCE = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist"})


def read_bytes(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger than `most` bytes.
        ValueError: the path holds a NUL.
    """
    with open(path, "rb", opener=_open) as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            what = errno.EISDIR if stat.S_ISDIR(info.st_mode) else errno.EINVAL
            raise OSError(what, os.strerror(what) if what == errno.EISDIR else "Not a regular file")
        if info.st_size > most:
            raise OSError(errno.EFBIG, f"More than {most // 1_000_000} MB")
        return file.read(min(most, info.st_size or most))  # as much as is asked for is allocated at once


def _open(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a pipe waits for somebody to write into it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))

