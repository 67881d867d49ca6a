"""What files and folders hold: as they are on disk, or as they would be if the unsaved texts of an editor were saved."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import tokenize

from torchlint.files.reading import MOST_BYTES, NO_SOURCE, read_bytes


class Disk:
    """Files and folders as they are on disk. Nothing is kept: each question is put to the disk."""

    def read(self, path: str, most: int = MOST_BYTES) -> bytes:
        """The content of a regular file.

        Raises:
            OSError, ValueError: see `reading.read_bytes`.
        """
        return read_bytes(path, most)

    def holds_unsaved(self, path: str) -> bool:
        """Whether a file is looked at as it is not on disk."""
        return False

    def names(self, folder: str) -> frozenset[str]:
        """All names in a folder; none where there is no folder."""
        try:
            return frozenset(os.listdir(folder))
        except OSError:
            return frozenset()

    def is_file(self, path: str) -> bool:
        """Whether a path is that of a file, or of a link to one."""
        return os.path.isfile(path)

    def is_folder(self, path: str) -> bool:
        """Whether a path is that of a folder, or of a link to one."""
        return os.path.isdir(path)

    def exists(self, path: str) -> bool:
        """Whether anything has that path, even a link that leads nowhere."""
        return os.path.lexists(path)

    def listed(self, folder: str) -> tuple[list[str], list[str]]:
        """The names of the Python files and notebooks in a folder, and of the folders in it that may hold such; links to
        folders are left out, for they may lead back."""
        files, folders, _ = self._listed(folder)
        return files, folders

    def digest(self, path: str) -> str | None:
        """A hash of what is in a file, or of what a folder lists if the path has a separator at its end; None where it cannot
        be read, or is neither."""
        if path.endswith(os.sep):
            return self._listing_digest(path)
        try:
            return hashlib.sha256(self.read(path)).hexdigest()
        except (OSError, ValueError):
            return None

    def _listing_digest(self, folder: str) -> str | None:
        """A hash of what `_listed` says of a folder; None where there is none."""
        if not self.is_folder(folder):
            return None
        return hashlib.sha256(repr(self._listed(folder)).encode("utf-8", "surrogateescape")).hexdigest()

    def _listed(self, folder: str) -> tuple[list[str], list[str], list[str]]:
        """What `listed` says, and the names of links that are none of these files."""
        files, folders, links = [], [], []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if _may_hold_source(entry.name):
                            folders.append(entry.name)
                    elif entry.name.endswith(_SUFFIXES):
                        files.append(entry.name)
                    elif entry.is_symlink():
                        links.append(entry.name)
        except OSError:
            pass
        return sorted(files), sorted(folders), sorted(links)


class Unsaved(Disk):
    """Files and folders as they would be if some texts were saved. What is put and dropped holds from the next `look_again` on."""

    def __init__(self) -> None:
        self._given: dict[str, bytes] = {}
        self._texts: dict[str, bytes] = {}  # by where files really are, so that a text is seen through links, too
        self._inside: dict[str, dict[str, bool]] = {}  # by folder: the names that saving puts there, and which are folders

    def put(self, path: str, text: str | bytes) -> None:
        """Take a text for what is in the file at `path`, which need not exist."""
        self._given.pop(path, None)  # of two texts for one file, the last one given counts
        self._given[path] = text if isinstance(text, bytes) else as_saved(text)

    def drop(self, path: str) -> None:
        """Take the file at `path` for what it is on disk."""
        self._given.pop(path, None)

    def look_again(self) -> None:
        """Finds out anew where the given texts would be saved: folders may have become links."""
        self._texts = {os.path.realpath(path): text for path, text in self._given.items()}
        self._inside = {}
        for path in self._texts:
            is_folder = False
            while os.path.dirname(path) != path:
                path, name = os.path.split(path)
                self._inside.setdefault(path, {})[name] = is_folder
                is_folder = True

    def _text(self, path: str) -> bytes | None:
        return self._texts.get(os.path.realpath(path)) if self._texts else None

    def _put_in(self, folder: str) -> dict[str, bool]:
        return self._inside.get(os.path.realpath(folder), {}) if self._inside else {}

    def read(self, path: str, most: int = MOST_BYTES) -> bytes:
        text = self._text(path)
        if text is None:
            return super().read(path, most)
        if len(text) > most:
            raise OSError(errno.EFBIG, f"More than {most // 1_000_000} MB")
        return text

    def holds_unsaved(self, path: str) -> bool:
        return self._text(path) is not None

    def names(self, folder: str) -> frozenset[str]:
        return super().names(folder).union(self._put_in(folder))

    def is_file(self, path: str) -> bool:
        return self._text(path) is not None or super().is_file(path)

    def is_folder(self, path: str) -> bool:
        return bool(self._put_in(path)) or super().is_folder(path)

    def exists(self, path: str) -> bool:
        return self._text(path) is not None or bool(self._put_in(path)) or super().exists(path)

    def _listed(self, folder: str) -> tuple[list[str], list[str], list[str]]:
        files, folders, links = super()._listed(folder)
        for name, is_folder in self._put_in(folder).items():
            if is_folder and name not in folders and name not in links and _may_hold_source(name):
                folders.append(name)
            elif not is_folder and name not in files and name.endswith(_SUFFIXES):
                files.append(name)
        return sorted(files), sorted(folders), links


_SUFFIXES = (".py", ".ipynb")


def _may_hold_source(folder: str) -> bool:
    return folder[0] != "." and folder not in NO_SOURCE


def as_saved(text: str) -> bytes:
    """The bytes that an editor writes for a text: in the encoding that it declares, or in UTF-8 where that cannot be."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data if encoding.startswith("utf-8") else text.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return data
