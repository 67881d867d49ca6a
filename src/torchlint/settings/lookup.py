"""Which settings a run over some paths has: `[tool.torchlint]` is looked for in the folder they share and those above."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from torchlint.catalogue.pages import tomllib
from torchlint.files.reading import read_bytes
from torchlint.settings.config import CACHE_FOLDER, MOST_BYTES, Config

_ROOT_MARKERS = (".git", ".hg", "pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "environment.yml")


def load(paths: Sequence[Path], explicit: Path | None = None, isolated: bool = False) -> Config:
    """The settings for a run over `paths`: from `explicit`, or else from the nearest torchlint.toml, or pyproject.toml
    with a [tool.torchlint] section, in the folder that all paths share and those above it.

    Raises:
        ConfigError: the file cannot be read, or holds what it must not.
    """
    start = _shared_folder(paths)
    path = explicit or (None if isolated else _settings_file(start))
    if path is not None:
        from torchlint.settings.reading import read_config

        return read_config(path)
    root = project_root(start)
    from torchlint.settings.requirements import lowest_torch

    return Config(root, torch_version=lowest_torch(root))


def _settings_file(start: Path) -> Path | None:
    """The nearest file with settings at or above `start`."""
    for folder in (start, *start.parents):
        own, project = folder / "torchlint.toml", folder / "pyproject.toml"
        if own.is_file():
            return own
        if project.is_file() and _has_section(project):
            return project
    return None


def project_root(start: Path) -> Path:
    """The nearest folder at or above `start` that looks like the top of a project; `start` where none does."""
    for folder in (start, *start.parents):
        if any((folder / marker).exists() for marker in _ROOT_MARKERS):
            return folder
    return start


def cache_folder(config: Config) -> Path:
    """Where the cache lies: where the settings say, or in the project; where there is no project, in the working folder
    rather than among files that are perhaps nobody's to write to.
    """
    if config.cache_dir is not None:
        return config.cache_dir
    in_project = config.path or any((config.root / marker).exists() for marker in _ROOT_MARKERS)
    return (config.root if in_project else Path.cwd()) / CACHE_FOLDER


def _shared_folder(paths: Sequence[Path]) -> Path:
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
