"""Which files a run looks at: discovery that heeds .gitignore and the settings, and reports what it cannot reach."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from torchlint.files.globs import Patterns, of_file
from torchlint.files.modules import ROOT_MARKS
from torchlint.files.reading import read_bytes
from torchlint.files.source import Problem, describe
from torchlint.settings.config import Config
from torchlint.settings.lookup import SETTINGS_FILES

_MAY_SETTLE = ROOT_MARKS.union(SETTINGS_FILES)  # where these are, other settings may hold
_MOST_BYTES = 1_000_000  # of an ignore file
_MOST_ENTRIES = 20_000  # in all folders, where only so many files are wanted
SUFFIXES = (".py", ".pyw", ".ipynb")


class TooMuch(Exception):
    """There are more files, or other things, than are to be looked at."""


class File(msgspec.Struct, frozen=True):
    """A file to be judged: its absolute path and its size in bytes."""

    path: str
    size: int


class _Scope(msgspec.Struct):
    """Where one settings file holds: its patterns, and the folder that they are seen from."""

    config: Config
    root: str
    patterns: Patterns


class Discovery:
    """Finds the files under some paths.

    Files that are named are taken whatever they are called, unless `force_exclude` makes excludes hold for them too.
    Folders are walked; ignored and excluded entries below them are left out, links to folders are not followed, and
    links to files only where they stay inside the folder. After `find`, `problems` has what could not be reached, and
    `configs` the settings of the files for which those of the run do not hold.

    Args:
        config: the settings of the run.
        force_exclude: whether excludes hold for what is named, too.
        nearest: the settings of a folder, where folders may have their own.
        most: how many files there may be; None where that does not matter.
    """

    def __init__(
        self, config: Config, force_exclude: bool = False, nearest: Callable[[str], Config] | None = None,
        most: int | None = None,
    ):
        self.problems: list[Problem] = []
        self.configs: dict[str, Config] = {}
        self._top = _Scope(config, str(config.root), Patterns(config.exclude))
        self._nearest = nearest
        self._scopes: dict[int, _Scope] = {}
        self._force = force_exclude
        self._most = most
        self._passed = 0  # what was in the folders so far
        self._specs: dict[str, Patterns | None] = {}

    def find(self, paths: Iterable[str]) -> list[File]:
        """The files under `paths`, each once, largest first: no long one must be left for the end of a parallel run.

        Raises:
            TooMuch: there are more files than there may be, or very many other things.
        """
        found: dict[str, File] = {}
        for path in paths:
            for file in self._under(os.path.abspath(path)):
                if is_text(file.path):
                    real = os.path.realpath(file.path)
                    found[real] = min(found.get(real, file), file, key=lambda one: _farness(one.path, real))
                    if self._most is not None and len(found) > self._most:
                        raise TooMuch
                else:
                    self._problem(file.path, "its name is not UTF-8: rename it to have it judged")
        return sorted(found.values(), key=lambda file: (-file.size, file.path))

    def _under(self, path: str) -> Iterator[File]:
        try:
            info = os.stat(path)
        except OSError as error:
            self._problem(path, self._why_missing(path, error))
            return
        except ValueError:
            self._problem(path, "not a path")
            return
        is_folder = stat.S_ISDIR(info.st_mode)
        scope = self._scope(path if is_folder else os.path.dirname(path))
        if is_folder:
            if not (self._force and self._excluded_above(path, True, scope)):
                yield from self._walk(path, scope)
        elif not stat.S_ISREG(info.st_mode):
            self._problem(path, "neither a file nor a folder (to read standard input, give -)")
        elif not (self._force and self._excluded_above(path, False, scope)):
            yield self._file(path, info.st_size, scope)

    def _file(self, path: str, size: int, scope: _Scope) -> File:
        if scope is not self._top:
            self.configs[path] = scope.config
        return File(path, size)

    def _scope(self, folder: str) -> _Scope:
        """What holds in a folder."""
        if self._nearest is None:
            return self._top
        config = self._nearest(folder)
        if config is self._top.config:
            return self._top
        if id(config) not in self._scopes:
            self._scopes[id(config)] = _Scope(config, str(config.root), Patterns(config.exclude))
        return self._scopes[id(config)]

    def _why_missing(self, path: str, error: OSError) -> str:
        if isinstance(error, FileNotFoundError):
            return f"dangling link to {os.readlink(path)}" if os.path.islink(path) else "no such file or folder"
        return f"cannot be read: {describe(error)}"

    def _problem(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))

    def _walk(self, top: str, scope: _Scope) -> Iterator[File]:
        inside = os.path.realpath(top) + os.sep
        # Excludes that name the folder itself, or one above it, do not hold: it was asked for.
        base = top if not _below(top, scope.root) or _excluded(top, True, scope, scope.root) else scope.root
        stack: list[tuple[str, list[tuple[str, Patterns]], _Scope, str]] = [(top, self._ignores_above(top), scope, base)]
        while stack:
            folder, ignores, scope, base = stack.pop()
            spec = self._spec(os.path.join(folder, ".gitignore"))
            if spec is not None:
                ignores = [*ignores, (folder, spec)]
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(self._within(entries), key=lambda entry: entry.name)
            except OSError as error:
                self._problem(folder, f"folder cannot be read: {describe(error)}")
                continue
            if self._nearest is not None and folder != top and any(entry.name in _MAY_SETTLE for entry in listed):
                inner = self._scope(folder)
                scope, base = inner, base if inner.root == scope.root else folder
            for entry in listed:
                try:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    wanted = is_folder or entry.name.endswith(SUFFIXES)
                    if not wanted or _excluded(entry.path, is_folder, scope, base) or _says(ignores, entry.path, is_folder):
                        continue
                    if is_folder:
                        stack.append((entry.path, ignores, scope, base))
                    elif entry.is_file():
                        if not entry.is_symlink() or os.path.realpath(entry.path).startswith(inside):
                            yield self._file(entry.path, entry.stat().st_size, scope)
                    elif entry.is_symlink() and not os.path.exists(entry.path):
                        self._problem(entry.path, f"dangling link to {os.readlink(entry.path)}")
                except OSError as error:
                    self._problem(entry.path, f"cannot be read: {describe(error)}")

    def _within(self, entries: Iterable[os.DirEntry[str]]) -> Iterable[os.DirEntry[str]]:
        """What is in a folder, as long as that is not too much."""
        if self._most is None:
            return entries
        listed = list(islice(entries, _MOST_ENTRIES - self._passed + 1))
        self._passed += len(listed)
        if self._passed > _MOST_ENTRIES:
            raise TooMuch
        return listed

    def leaves_out(self, path: str) -> bool:
        """Whether a walk from the project's root would pass a file over, by its full path."""
        return self._excluded_above(path, False, self._scope(os.path.dirname(path)))

    def _excluded_above(self, path: str, is_folder: bool, scope: _Scope) -> bool:
        """Whether a path that was named would have been left out by a walk from the project's root."""
        if _excluded(path, is_folder, scope, scope.root):
            return True
        ignores = self._ignores_above(path if is_folder else os.path.dirname(path) + os.sep, drop_if_ignored=False)
        spec = None if is_folder else self._spec(os.path.join(os.path.dirname(path), ".gitignore"))
        if spec is not None:
            ignores = [*ignores, (os.path.dirname(path), spec)]
        return _ignored(path, is_folder, ignores)

    def _ignores_above(self, folder: str, drop_if_ignored: bool = True) -> list[tuple[str, Patterns]]:
        """The ignore files that hold for a folder, from the top of its git repository down to its parent. None of them
        holds where they ignore the folder itself: it was asked for, so its files are wanted.
        """
        folder = folder.rstrip(os.sep) or os.sep
        chain = [folder, *map(str, Path(folder).parents)]
        top = next((at for at, above in enumerate(chain) if os.path.exists(os.path.join(above, ".git"))), None)
        if top is None:
            return []
        found = []
        exclude = self._spec(_info_exclude(chain[top]))
        if exclude is not None:
            found.append((chain[top], exclude))
        for above in reversed(chain[1: top + 1]):
            spec = self._spec(os.path.join(above, ".gitignore"))
            if spec is not None:
                found.append((above, spec))
        return [] if drop_if_ignored and top > 0 and _ignored(folder, True, found) else found

    def _spec(self, path: str) -> Patterns | None:
        if path not in self._specs:
            self._specs[path] = None
            try:
                self._specs[path] = of_file(read_bytes(path, _MOST_BYTES)) or None
            except FileNotFoundError:
                pass
            except (OSError, ValueError) as error:
                why = describe(error) if isinstance(error, OSError) else str(error)
                if not isinstance(error, (NotADirectoryError, PermissionError)):
                    self._problem(path, f"cannot be used: {why}")
        return self._specs[path]


def _excluded(path: str, is_folder: bool, scope: _Scope, base: str) -> bool:
    return bool(scope.patterns.cover(_below(path, base) or os.path.basename(path), is_folder))


def is_text(path: str) -> bool:
    """Whether a path can be written in a report; names in some other encoding come from the system half-decoded."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _farness(path: str, real: str) -> tuple[bool, bool, str]:
    """What goes first of several names for one file, whichever was given first: its own, for imports go from there, then one
    in a link to its folder, then links to the file."""
    return path != real, os.path.basename(path) != os.path.basename(real), path


def _says(ignores: Sequence[tuple[str, Patterns]], path: str, is_folder: bool) -> bool | None:
    """As git decides: the deepest ignore file that says anything about a path has the last word."""
    for folder, patterns in reversed(ignores):
        below = _below(path, folder)
        verdict = patterns.of(below, is_folder) if below else None
        if verdict is not None:
            return verdict
    return None


def _ignored(path: str, is_folder: bool, ignores: Sequence[tuple[str, Patterns]]) -> bool:
    """The same, also by what ignores a folder that the path is in: what is in it cannot be taken back."""
    top = ignores[0][0].rstrip(os.sep) if ignores else path
    above = [str(folder) for folder in Path(path).parents if len(str(folder)) > len(top)]
    return any(_says(ignores, folder, True) for folder in above) or bool(_says(ignores, path, is_folder))


def _below(path: str, folder: str) -> str:
    """The path as seen from a folder above it, with / between parts; "" if not below it."""
    prefix = folder if folder.endswith(os.sep) else folder + os.sep
    return path[len(prefix):].replace(os.sep, "/") if path.startswith(prefix) else ""


def _info_exclude(top: str) -> str:
    """The path of a repository's info/exclude. In worktrees and submodules `.git` is a file that says where it is."""
    git = os.path.join(top, ".git")
    if os.path.isfile(git):
        try:
            git = os.path.join(top, read_bytes(git, 10_000).decode().removeprefix("gitdir:").strip())
            git = os.path.join(git, read_bytes(os.path.join(git, "commondir"), 10_000).decode().strip())
        except (OSError, ValueError):
            pass
    return os.path.join(git, "info", "exclude")
