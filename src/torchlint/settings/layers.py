"""One settings file read and checked, so that a mistake in it is named with its line."""

from __future__ import annotations

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
from torchlint.settings.config import MOST_BYTES, ConfigError, Layer
from torchlint.settings.formats import FORMATS
from torchlint.settings.keys import KEYS, Settings
from torchlint.settings.lines import line_of_excess
from torchlint.settings.selection import nearest

_SEVERITIES = tuple(severity.value for severity in Severity)
# Keys whose values are no lists of strings, and what they must be.
_MUST_BE = {
    "extend": "a string: the path of a settings file",
    "per-file-ignores": "a table from file pattern to list of codes",
    "extend-per-file-ignores": "a table from file pattern to list of codes",
    "severity": "a table from group to severity",
    "cache-dir": "a string: the path of a folder",
    "fail-on": f"one of {', '.join(_SEVERITIES)}",
    "output-format": f"one of {', '.join(FORMATS)}",
    "unused-noqa": "true or false",
    "strict-tests": "true or false",
}
_TABLES = ("per-file-ignores", "extend-per-file-ignores", "severity")


def read_layer(path: Path) -> Layer:
    """What one file says, torchlint.toml (keys at the top) or pyproject.toml (keys in [tool.torchlint]).

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
    if not isinstance(data, dict):
        raise Layer(path, text, {}).complain("torchlint", "[tool.torchlint] must be a table")
    layer = Layer(path, text, data)
    check(layer)
    return layer


def given(text: str) -> Layer:
    """What `--config KEY=VALUE` says, written as in a settings file.

    Raises:
        ConfigError: as for a file.
    """
    layer = Layer(None, text, {})
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(" (at ")[0]
        raise layer.complain("", f"not KEY=VALUE as TOML has it ({reason[:1].lower()}{reason[1:]})") from None
    layer = Layer(None, text, data)
    check(layer)
    return layer


def check(layer: Layer) -> None:
    """Look through what one place says.

    Raises:
        ConfigError: an unknown key, or a value that cannot be used.
    """
    try:
        settings = msgspec.convert(layer.data, Settings)
    except msgspec.ValidationError:
        raise _mistake(layer, layer.data) from None
    # What a type cannot say: patterns are judged by the code that matches them.
    _patterns(layer, "exclude", settings.exclude if "exclude" in layer.data else ())
    _patterns(layer, "extend-exclude", settings.extend_exclude)
    for key, table in (
        ("per-file-ignores", settings.per_file_ignores), ("extend-per-file-ignores", settings.extend_per_file_ignores),
    ):
        _patterns(layer, key, [pattern.removeprefix("!") for pattern in table])


def _mistake(layer: Layer, data: Mapping[str, Any]) -> ConfigError:
    """What is wrong in settings that were refused, told in full: msgspec knows no lines and does not name a table's keys."""
    for key in data:
        if key not in KEYS:
            return layer.complain(key, f"unknown key {key!r}{nearest(key.replace('_', '-'), KEYS)}")
    key, value = next(item for item in data.items() if not _fits(*item))
    if key in _TABLES and isinstance(value, dict):
        name, entry = next(item for item in value.items() if not _fits(key, dict([item])))
        if key == "severity":
            return layer.complain(name, f"severity{_wrong_severity(name, entry)}")
        return layer.complain(name, f"{key} of {name!r} must be a list of strings")
    if key == "torch-version":
        return layer.complain(key, f'torch-version must be a string such as "2.6": {_wrong_version(value)}')
    hint = nearest(value, _SEVERITIES if key == "fail-on" else FORMATS if key == "output-format" else ()) if isinstance(value, str) else ""
    return layer.complain(key, f"{key} must be {_MUST_BE.get(key, 'a list of strings')}{hint}")


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


def _patterns(layer: Layer, key: str, given: Sequence[str]) -> None:
    for pattern in given:
        if not usable(pattern):
            shown = _shown(pattern)
            raise layer.complain(key, f"{key}: {shown} is no pattern: nothing matches it", pattern)


def _shown(value: Any) -> str:
    """A value as it is shown in a message: what is long is cut."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _excess(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else f"not valid TOML: {str(error).split(';')[0].lower()}"
