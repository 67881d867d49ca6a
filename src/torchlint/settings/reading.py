"""One settings file read and checked, so that a mistake in it is named with its line."""

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
from torchlint.files.source import describe, unify_line_ends
from torchlint.findings import Severity
from torchlint.settings.config import MOST_BYTES, Config, ConfigError
from torchlint.settings.keys import KEYS, Settings, parse_version
from torchlint.settings.lines import line_of_excess
from torchlint.settings.selection import nearest

# Keys whose values are no lists of strings, and what they must be.
_MUST_BE = {
    "per-file-ignores": "a table from file pattern to list of codes",
    "severity": "a table from group to severity",
    "strict-tests": "true or false",
    "cache-dir": "a string: the path of a folder",
}


def read_config(path: Path) -> Config:
    """The settings in one file, torchlint.toml (keys at the top) or pyproject.toml (keys in [tool.torchlint]).

    Raises:
        ConfigError: it cannot be read, is not TOML, or holds an unknown key or a value of the wrong type.
    """
    try:
        text = unify_line_ends(read_bytes(path, MOST_BYTES).decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {describe(error)}") from None
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
        raise ConfigError(f"{path}:{line_of_excess(text)}: {_excess(error)}") from None
    if path.name == "pyproject.toml":
        data = data.get("tool", {})
        data = data.get("torchlint", {}) if isinstance(data, dict) else {}
    config = Config(Path(os.path.abspath(path)).parent, path, text=text)
    if not isinstance(data, dict):
        raise config.complain("torchlint", "[tool.torchlint] must be a table")
    return _checked(config, data)


def _checked(config: Config, data: Mapping[str, Any]) -> Config:
    try:
        given = msgspec.convert(data, Settings)
    except msgspec.ValidationError:
        raise _mistake(config, data) from None
    # What a type cannot say: patterns are judged by the code that matches them, folders by where they lie.
    _patterns(config, "exclude", given.exclude if "exclude" in data else ())
    _patterns(config, "extend-exclude", given.extend_exclude)
    _patterns(config, "per-file-ignores", [pattern.removeprefix("!") for pattern in given.per_file_ignores])
    if given.torch_version is msgspec.UNSET:
        from torchlint.settings.requirements import lowest_torch

        torch_version = lowest_torch(config.root)
    else:
        torch_version = parse_version(given.torch_version)
    return msgspec.structs.replace(
        config,
        select=None if given.select is msgspec.UNSET else given.select,
        extend_select=given.extend_select,
        ignore=given.ignore,
        per_file_ignores=given.per_file_ignores,
        exclude=given.exclude + given.extend_exclude,
        torch_version=torch_version,
        severity=given.severity,
        extend_rules=given.extend_rules,
        strict_tests=given.strict_tests,
        cache_dir=None if given.cache_dir is msgspec.UNSET else _inside(config, "cache-dir", given.cache_dir),
    )


def _mistake(config: Config, data: Mapping[str, Any]) -> ConfigError:
    """What is wrong in settings that were refused, told in full: msgspec knows no lines and does not name a table's keys."""
    for key in data:
        if key not in KEYS:
            return config.complain(key, f"unknown key {key!r}{nearest(key.replace('_', '-'), KEYS)}")
    key, value = next(item for item in data.items() if not _fits(*item))
    if key in ("per-file-ignores", "severity") and isinstance(value, dict):
        name, entry = next(item for item in value.items() if not _fits(key, dict([item])))
        if key == "severity":
            return config.complain(name, f"severity{_wrong_severity(name, entry)}")
        return config.complain(name, f"per-file-ignores of {name!r} must be a list of strings")
    if key == "torch-version":
        return config.complain(key, f'torch-version must be a string such as "2.6": {_wrong_version(value)}')
    return config.complain(key, f"{key} must be {_MUST_BE.get(key, 'a list of strings')}")


def _fits(key: str, value: Any) -> bool:
    try:
        msgspec.convert({key: value}, Settings)
    except msgspec.ValidationError:
        return False
    return True


def _wrong_severity(group: str, value: Any) -> str:
    if group not in GROUPS:
        return f": {group!r} is no group{nearest(group, GROUPS)}; groups are {', '.join(GROUPS)}"
    words = [severity.value for severity in Severity]
    hint = nearest(value, words) if isinstance(value, str) else ""
    return f" of {group} must be {', '.join(words[:-1])} or {words[-1]}, not {_shown(value)}{hint}"


def _wrong_version(value: Any) -> str:
    if isinstance(value, str):
        return f"{_shown(value)} is not"
    shown = f'"{_shown(value)}"'
    return f"write torch-version = {shown}" if isinstance(value, (int, float)) else f"{shown} is not"


def _inside(config: Config, key: str, value: str) -> Path:
    """The path of a folder in the project. Who takes over a tree takes over its settings: they must not lead writes elsewhere."""
    try:
        inside = (config.root / value).resolve().is_relative_to(config.root.resolve())
    except (OSError, ValueError, RuntimeError):
        inside = False
    if not inside or "\0" in value:
        raise config.complain(key, f"{key}: {value!r} is not in the project; give --{key} to have it elsewhere")
    return config.root / value


def _patterns(config: Config, key: str, given: Sequence[str]) -> None:
    for pattern in given:
        if not usable(pattern):
            shown = _shown(pattern)
            raise config.complain(key, f"{key}: {shown} is no pattern: nothing matches it", pattern)


def _shown(value: Any) -> str:
    """A value as it is shown in a message: what is long is cut."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _excess(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else f"not valid TOML: {str(error).split(';')[0].lower()}"
