"""Reads files of trees that are not trusted: a pipe in the place of a file would never end, a device would fill the memory."""

from __future__ import annotations

import errno
import hashlib
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


def content_digest(path: str) -> str | None:
    """A hash of what is in a file, or of what a folder lists if the path has a separator at its end; None where it cannot be
    read, or is neither."""
    if path.endswith(os.sep):
        return listing_digest(path)
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except (OSError, ValueError):
        return None


def listed(folder: str) -> tuple[list[str], list[str]]:
    """The names of the Python files and notebooks in a folder, and of the folders in it that may hold such; links to
    folders are left out, for they may lead back."""
    files, folders, _ = _listed(folder)
    return files, folders


def _listed(folder: str) -> tuple[list[str], list[str], list[str]]:
    """What `listed` says, and the names of links that are none of these files."""
    files, folders, links = [], [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name[0] != "." and entry.name not in NO_SOURCE:
                        folders.append(entry.name)
                elif entry.name.endswith((".py", ".ipynb")):
                    files.append(entry.name)
                elif entry.is_symlink():
                    links.append(entry.name)
    except OSError:
        pass
    return sorted(files), sorted(folders), sorted(links)


def listing_digest(folder: str) -> str | None:
    """A hash of what `listed` says of a folder, and of the names of links in it; None where there is none."""
    if not os.path.isdir(folder):
        return None
    return hashlib.sha256(repr(_listed(folder)).encode("utf-8", "surrogateescape")).hexdigest()
