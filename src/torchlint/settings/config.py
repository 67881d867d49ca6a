"""`[tool.torchlint]`: found, read, and checked so that a mistake in it is named with its line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from torchlint.catalogue.pages import GROUPS, tomllib
from torchlint.files.globs import usable
from torchlint.files.reading import read_bytes
from torchlint.files.source import unify_line_ends
from torchlint.findings import Severity
from torchlint.settings.selection import nearest

# As ruff and its peers: folders that hold other people's code, builds or caches.
DEFAULT_EXCLUDES = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".torchlint_cache", ".tox", ".venv", ".vscode",
    "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)
CACHE_FOLDER = ".torchlint_cache"
_ROOT_MARKERS = (".git", ".hg", "pyproject.toml", "setup.cfg", "setup.py", "requirements.txt", "environment.yml")
_MOST_BYTES = 4_000_000
_LISTS = ("ignore", "extend-select", "extend-exclude", "extend-rules")
KEYS = ("select", *_LISTS, "exclude", "per-file-ignores", "torch-version", "severity", "cache-dir")


class ConfigError(ValueError):
    """Settings that cannot be used; the text names the file and the line."""


class Config(msgspec.Struct, frozen=True):
    """The settings of one run. Paths in them are relative to `root`; `path` is the file they come from, if any."""

    root: Path
    path: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = {}
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    torch_version: tuple[int, int] | None = None
    severity: dict[str, Severity] = {}
    cache_dir: Path | None = None
    extend_rules: tuple[str, ...] = ()
    text: str = ""

    def complain(self, key: str, message: str, word: str = "") -> ConfigError:
        """The error to raise about a key, or about a word in its value."""
        return ConfigError(f"{self.path}:{_line_of(self.text, self.path, key, word)}: {message}")


def load(paths: Sequence[Path], explicit: Path | None = None, isolated: bool = False) -> Config:
    """The settings for a run over `paths`: from `explicit`, or else from the nearest torchlint.toml, or pyproject.toml
    with a [tool.torchlint] section, in the folder that all paths share and those above it.

    Raises:
        ConfigError: the file cannot be read, or holds what it must not.
    """
    start = _shared_folder(paths)
    if explicit is not None:
        return read_config(explicit)
    if not isolated:
        for folder in (start, *start.parents):
            own = folder / "torchlint.toml"
            if own.is_file():
                return read_config(own)
            project = folder / "pyproject.toml"
            if project.is_file() and _has_section(project):
                return read_config(project)
    root = project_root(start)
    from torchlint.settings.requirements import lowest_torch

    return Config(root, torch_version=lowest_torch(root))


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
        raw = read_bytes(path, _MOST_BYTES)
    except OSError:
        return False
    if b"torchlint" not in raw:
        return False
    try:
        return "torchlint" in tomllib.loads(raw.decode()).get("tool", {})
    except (ValueError, AttributeError, TypeError, RecursionError):
        return re.search(rb"^\s*\[\s*tool\s*\.\s*torchlint", raw, re.MULTILINE) is not None


def read_config(path: Path) -> Config:
    """The settings in one file, torchlint.toml (keys at the top) or pyproject.toml (keys in [tool.torchlint]).

    Raises:
        ConfigError: it cannot be read, is not TOML, or holds an unknown key or a value of the wrong type.
    """
    try:
        text = unify_line_ends(read_bytes(path, _MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8, which TOML has to be") from None
    try:
        data: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # "Invalid value (at line 2, column 10)", "Invalid value (at end of document)"
        message, _, where = str(error).partition(" (at ")
        row = re.match(r"line (\d+)", where)
        line = row[1] if row else len(text.rstrip().split("\n"))
        raise ConfigError(f"{path}:{line}: not valid TOML: {message}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}:{_line_of_excess(text)}: {_excess(error)}") from None
    if path.name == "pyproject.toml":
        data = data.get("tool", {})
        data = data.get("torchlint", {}) if isinstance(data, dict) else {}
    config = Config(Path(os.path.abspath(path)).parent, path, text=text)
    if not isinstance(data, dict):
        raise config.complain("torchlint", "[tool.torchlint] must be a table")
    return _checked(config, data)


def _checked(config: Config, data: Mapping[str, Any]) -> Config:
    for key in data:
        if key not in KEYS:
            raise config.complain(key, f"unknown key {key!r}{nearest(key.replace('_', '-'), KEYS)}")
    values: dict[str, Any] = {key.replace("-", "_"): _strings(config, key, data[key]) for key in _LISTS if key in data}
    if "select" in data:
        values["select"] = _strings(config, "select", data["select"])
    exclude = _strings(config, "exclude", data["exclude"]) if "exclude" in data else DEFAULT_EXCLUDES
    _patterns(config, "exclude", exclude if "exclude" in data else ())
    _patterns(config, "extend-exclude", values.get("extend_exclude", ()))
    values["exclude"] = exclude + values.pop("extend_exclude", ())
    if "per-file-ignores" in data:
        table = _table(config, "per-file-ignores", data["per-file-ignores"], "file pattern to list of codes")
        values["per_file_ignores"] = {
            pattern: _strings(config, pattern, codes, f"per-file-ignores of {pattern!r}")
            for pattern, codes in table.items()
        }
        _patterns(config, "per-file-ignores", [pattern.removeprefix("!") for pattern in table])
    if "severity" in data:
        table = _table(config, "severity", data["severity"], "group to severity")
        values["severity"] = {group: _severity(config, group, value) for group, value in table.items()}
    if "torch-version" in data:
        values["torch_version"] = _version(config, data["torch-version"])
    else:
        from torchlint.settings.requirements import lowest_torch

        values["torch_version"] = lowest_torch(config.root)
    if "cache-dir" in data:
        if not isinstance(data["cache-dir"], str):
            raise config.complain("cache-dir", "cache-dir must be a string: the path of a folder")
        values["cache_dir"] = _inside(config, "cache-dir", data["cache-dir"])
    return msgspec.structs.replace(config, **values)


def _inside(config: Config, key: str, value: str) -> Path:
    """The path of a folder in the project. Who takes over a tree takes over its settings: they must not lead writes elsewhere."""
    try:
        inside = (config.root / value).resolve().is_relative_to(config.root.resolve())
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside or "\0" in value:
        raise config.complain(key, f"{key}: {value!r} is not in the project; give --{key} to have it elsewhere")
    return config.root / value


def _strings(config: Config, key: str, value: Any, shown: str = "") -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise config.complain(key, f"{shown or key} must be a list of strings")
    return tuple(value)


def _patterns(config: Config, key: str, given: Sequence[str]) -> None:
    for pattern in given:
        if not usable(pattern):
            shown = _shown(pattern)
            raise config.complain(key, f"{key}: {shown} is no pattern: nothing matches it", pattern)


def _table(config: Config, key: str, value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise config.complain(key, f"{key} must be a table from {what}")
    return value


def _severity(config: Config, group: str, value: Any) -> Severity:
    if group not in GROUPS:
        raise config.complain(group, f"severity: {group!r} is no group{nearest(group, GROUPS)}; groups are "
                                     f"{', '.join(GROUPS)}")
    try:
        return Severity(value)
    except ValueError:
        words = [severity.value for severity in Severity]
        raise config.complain(group, f"severity of {group} must be {', '.join(words[:-1])} or {words[-1]}, not "
                                     f"{_shown(value)}{nearest(value, words) if isinstance(value, str) else ''}") from None


def parse_version(text: str) -> tuple[int, int] | None:
    """The torch release "2.6" or "2.6.1" as (2, 6); None where the text is no release."""
    found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})(?:\.\d+)?(?:[+a-z].*)?", text.strip())
    return (int(found[1]), int(found[2])) if found else None


def _version(config: Config, value: Any) -> tuple[int, int]:
    version = parse_version(value) if isinstance(value, str) else None
    if version is None:
        shown = f'"{_shown(value)}"' if not isinstance(value, str) else _shown(value)
        hint = f"write torch-version = {shown}" if isinstance(value, (int, float)) else f"{shown} is not"
        raise config.complain("torch-version", f'torch-version must be a string such as "2.6": {hint}')
    return version


def _shown(value: Any) -> str:
    """A value as it is shown in a message: what is long is cut."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _excess(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else f"not valid TOML: {str(error).split(';')[0].lower()}"


def _line_of_excess(text: str) -> int:
    """The longest run of brackets or digits is what a TOML reader gives up on."""
    found = max(re.finditer(r"[\[{][\[{ ]*|[0-9_.]+", text), key=lambda match: match.end() - match.start(), default=None)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _line_of(text: str, path: Path | None, key: str, word: str) -> int:
    """The line of a key, or of a word in its value. TOML readers do not tell, so it is looked for in the text."""
    lines = text.split("\n")
    first = 0
    if path is not None and path.name == "pyproject.toml":
        header = re.compile(r"\s*\[\s*tool\s*\.\s*torchlint\b")
        first = next((number for number, line in enumerate(lines) if header.match(line)), 0)
    name = re.escape(key)
    if word:
        place = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    else:
        place = re.compile(rf"""\s*(?:["']?{name}["']?\s*[=.]|\[.*\b{name}["']?\s*\])|.*[{{,]\s*["']?{name}["']?\s*=""")
    found = next((number for number, line in enumerate(lines[first:], first + 1) if place.search(line)), None)
    if found is None:  # a word may be written with escapes: then the key's own line has to do
        return _line_of(text, path, key, "") if word else first + 1
    return found
