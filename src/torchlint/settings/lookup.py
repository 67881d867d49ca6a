"""Which settings a run over some paths has: `[tool.torchlint]` is looked for in the folder they share and those above."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from torchlint.catalogue.pages import tomllib
from torchlint.files.modules import ROOT_MARKS, is_top
from torchlint.files.reading import read_bytes
from torchlint.settings.config import CACHE_FOLDER, MOST_BYTES, Config

if TYPE_CHECKING:
    from torchlint.settings.overrides import Overrides

SETTINGS_FILES = ("torchlint.toml", "pyproject.toml")
_REQUIREMENTS = ("requirements.txt", "environment.yml")


def load(
    paths: Sequence[Path], explicit: Path | None = None, isolated: bool = False, overrides: Overrides | None = None
) -> Config:
    """The settings for a run over `paths`: from `explicit`, or else from the nearest torchlint.toml, or pyproject.toml
    with a [tool.torchlint] section, in the folder that all paths share and those above it; `overrides` are laid over them.

    Raises:
        ConfigError: the file cannot be read, or holds what it must not.
    """
    start = shared_folder(paths)
    path = explicit or (None if isolated else settings_file(start))
    if path is not None:
        from torchlint.settings.reading import read_config

        return read_config(path, overrides)
    root = project_root(start)
    if overrides:
        from torchlint.settings.reading import config_of

        return config_of(root, None, (), overrides)
    from torchlint.settings.requirements import required

    return Config(root, **required(root))


def settings_file(start: Path) -> Path | None:
    """The nearest file with settings at or above `start`."""
    return next((path for folder in (start, *start.parents) if (path := settings_in(folder)) is not None), None)


def settings_in(folder: Path) -> Path | None:
    """The file with settings that lies in a folder itself."""
    own, project = (folder / name for name in SETTINGS_FILES)
    if own.is_file():
        return own
    return project if project.is_file() and _has_section(project) else None


def project_root(start: Path) -> Path:
    """The nearest folder at or above `start` that is the top of a project; where none is, the nearest that has requirements, or
    `start`."""
    above = (start, *start.parents)
    marked = next((folder for folder in above if _is_top(folder)), None)
    return marked or next((folder for folder in above if _has_one(folder, _REQUIREMENTS)), start)


def _is_top(folder: Path) -> bool:
    return is_top([name for name in (*ROOT_MARKS, "__init__.py") if (folder / name).exists()])


def _is_project(folder: Path) -> bool:
    """Whether a file in a folder that is asked for by itself is of the project there: what it is judged by is the same among others."""
    return _is_top(folder) or _has_one(folder, _REQUIREMENTS) and project_root(folder) == folder


def _has_one(folder: Path, marks: Iterable[str]) -> bool:
    return any((folder / mark).exists() for mark in marks)


def cache_folder(config: Config) -> Path:
    """Where the cache lies: where the settings say, or in the project; where there is no project, in the working folder
    rather than among files that are perhaps nobody's to write to.
    """
    if config.cache_dir is not None:
        return config.cache_dir
    in_project = config.path or _is_top(config.root) or _has_one(config.root, _REQUIREMENTS)
    return (config.root if in_project else Path.cwd()) / CACHE_FOLDER


def shared_folder(paths: Sequence[Path]) -> Path:
    """The deepest folder that holds all paths."""
    absolute = [Path(os.path.abspath(path)) for path in paths]
    folders = [path if path.is_dir() else path.parent for path in absolute]
    shared = folders[0] if folders else Path.cwd()
    while not all(folder.is_relative_to(shared) for folder in folders):
        shared = shared.parent
    return shared


def _has_section(path: Path) -> bool:
    """Whether a pyproject.toml is ours to read. One with our section that does not parse is: people must hear of it."""
    try:
        raw = read_bytes(path, MOST_BYTES)
    except OSError:
        return False
    if b"torchlint" not in raw:
        return False
    try:
        return "torchlint" in tomllib.loads(raw.decode()).get("tool", {})
    except (ValueError, AttributeError, TypeError, RecursionError):
        return re.search(rb"^\s*\[\s*tool\s*\.\s*torchlint", raw, re.MULTILINE) is not None


class Nearest:
    """The settings of folders, each from the nearest settings file, as long as that lies below where the run's own were looked
    for. Where there is none at all, each project says which torch it runs on.

    Args:
        config: the settings of the run.
        paths: what the run is over.
        overrides: what is laid over every file.
    """

    def __init__(self, config: Config, paths: Sequence[Path], overrides: Overrides | None = None):
        self._start = str(shared_folder(paths))
        self._overrides = overrides
        self._known: dict[str, Config] = {self._start: config}
        self._config = config

    def __call__(self, folder: str) -> Config:
        """The settings for files in a folder.

        Raises:
            ConfigError: a settings file cannot be used.
        """
        if folder not in self._known:
            inside = folder.startswith(os.path.join(self._start, ""))
            own = settings_in(Path(folder)) if inside else None
            if own is not None:
                from torchlint.settings.reading import read_config

                self._known[folder] = read_config(own, self._overrides)
            else:
                above = self(os.path.dirname(folder)) if inside else self._config
                self._known[folder] = self._for_project(folder, above) if inside and above.path is None else above
        return self._known[folder]

    def _for_project(self, folder: str, above: Config) -> Config:
        """The default settings for a folder that may be the top of a project."""
        if not _is_project(Path(folder)) or self._overrides is not None and self._overrides.says_torch:
            return above
        from torchlint.settings.requirements import required

        own = required(Path(folder))
        known = {"torch_version": above.torch_version, "releases": above.releases, "newest": above.newest}
        return above if own == known else msgspec.structs.replace(above, **own)
