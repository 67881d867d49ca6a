"""The project of a file: the folder, and the files in it that a run over that folder would judge. A verdict on a file is what
all of these make known of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import msgspec

from torchlint.files.modules import Modules, is_top
from torchlint.run.discovery import Discovery, File, TooMuch
from torchlint.settings.config import Config, ConfigError
from torchlint.settings.lookup import Nearest

MOST_FILES = 2_000  # of a project that is looked through for the sake of some of its files

Lookup = Callable[[str], "tuple[Config, Nearest | None]"]


class Project(msgspec.Struct, frozen=True):
    """A folder, and its files by their paths; None where they are not known, and then why. `marked` is whether something in the
    folder says that a project begins there."""

    root: str
    files: dict[str, File] | None
    why: str = ""
    marked: bool = False

    def has(self, path: str) -> bool:
        """Whether a file is one of the project; where they are not known, whether it lies in it."""
        return path.startswith(os.path.join(self.root, "")) if self.files is None else path in self.files


class Projects:
    """Looks through each project once.

    Args:
        lookup: the settings for a run over a folder, and those of the folders in it.
        walked: folders that were gone through already.
        found: the files of these.
        alone: look through nothing else.
    """

    def __init__(self, lookup: Lookup, walked: Sequence[str] = (), found: Iterable[File] = (), alone: bool = False):
        self._lookup = lookup
        self._alone = alone
        self._modules = Modules()
        self._walked = [os.path.join(folder, "") for folder in walked]
        self._found = list(found)
        self._known: dict[str, Project] = {}

    def of(self, path: str) -> Project:
        """The project of a file, by its full path. Where no folder is marked as one, it is the highest that is not too large."""
        folder = os.path.dirname(path)
        root = self._modules.project(folder)
        marked = is_top(self._modules.disk.names(root)) if root not in self._known else self._known[root].marked
        while True:
            if root not in self._known:
                self._known[root] = self._project(root, marked)
            if marked or self._known[root].files is not None or root == folder:
                return self._known[root]
            root = os.path.join(root, os.path.relpath(folder, root).split(os.sep)[0])

    def look_again(self) -> None:
        """Goes through the folders again: files may have come and gone."""
        self._modules.look_again()
        self._known.clear()

    def _project(self, root: str, marked: bool) -> Project:
        inside = os.path.join(root, "")
        too_large = f"has more than {MOST_FILES:,} Python files, or very many others"
        if any(inside.startswith(folder) for folder in self._walked):
            files = {file.path: file for file in self._found if file.path.startswith(inside)}
            return Project(root, files, marked=marked) if marked or len(files) <= MOST_FILES else Project(root, None, too_large)
        if self._alone:
            return Project(root, None, "was not looked through, as --alone asks", marked)
        try:
            config, nearest = self._lookup(root)
            files = Discovery(config, nearest=nearest, most=MOST_FILES).find([root])
        except TooMuch:
            return Project(root, None, too_large, marked)
        except ConfigError as error:
            return Project(root, None, f"has settings that cannot be used ({error})", marked)
        return Project(root, {file.path: file for file in files}, marked=marked)
