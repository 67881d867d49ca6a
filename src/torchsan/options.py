"""What the user asked for: arguments of `watch`, then TORCHSAN_OPTIONS, then [tool.torchsan] in pyproject.toml."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from torchlint.catalogue.pages import DEFAULT_GROUPS, GROUPS
from torchsan.report.deliver import MODES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEVELS = ("default", "thorough", "memory")
DEFAULT_SELECT = (*DEFAULT_GROUPS, "performance")


class OptionError(ValueError):
    """An option that does not exist or has a value it cannot have; the text says where it was set."""


class Options(msgspec.Struct, frozen=True):
    """The options of one watch. `select`, `extend_select` and `ignore` hold codes (TS101, 101), prefixes (TS1), names or
    groups."""

    on_finding: str | Callable[..., Any] = "warn"
    select: tuple[str, ...] = DEFAULT_SELECT
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    level: str = "default"
    extend_rules: tuple[str, ...] = ()

    def wants(self, number: int, name: str, group: str) -> bool:
        """Whether pitfall `number` is to be looked for: the longest match of what is selected and what is ignored decides."""
        code = f"TS{number:03d}"
        return _match((*self.select, *self.extend_select), code, name, group) > _match(self.ignore, code, name, group)


def _match(terms: Iterable[str], code: str, name: str, group: str) -> int:
    """How exactly the best of `terms` names this rule: 0 not at all, 1 its group, more for longer prefixes."""
    best = 0
    for term in terms:
        if term.upper() == "ALL" or term == group:
            best = max(best, 1)
        elif term == name:
            best = max(best, 9)
        else:
            prefix = re.sub(r"^(TL|TS)?", "TS", term.upper(), count=1)
            if code.startswith(prefix):
                best = max(best, len(prefix))
    return best


def gather(given: dict[str, Any]) -> Options:
    """Options from all sources; `given` are the arguments of `watch`, None where not given.

    Raises:
        OptionError: an unknown key or value, with its source and the nearest right word.
    """
    merged: dict[str, Any] = {}
    for source, values in (
        ("[tool.torchsan]", _pyproject()),
        ("TORCHSAN_OPTIONS", _environment(os.environ.get("TORCHSAN_OPTIONS", ""))),
        ("watch()", {key: value for key, value in given.items() if value is not None}),
    ):
        for key, value in values.items():
            merged[key.replace("-", "_")] = _checked(source, key.replace("-", "_"), value)
    return Options(**merged)


def _checked(source: str, key: str, value: Any) -> Any:
    names = Options.__struct_fields__
    if key not in names:
        raise OptionError(f"{source}: no option {key!r}{_nearest(key, names)}")
    if key in ("select", "extend_select", "ignore", "extend_rules"):
        if isinstance(value, str):
            value = [part for part in re.split(r"[,\s]+", value) if part]
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise OptionError(f"{source}: {key} takes a list of codes, names or groups, not {value!r}")
        return tuple(str(part) for part in value)
    allowed = LEVELS if key == "level" else MODES
    if callable(value) and key == "on_finding":
        return value
    if value not in allowed:
        raise OptionError(f"{source}: {key}={value!r} is none of {', '.join(allowed)}{_nearest(str(value), allowed)}")
    return value


def _nearest(word: str, words: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(words), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _environment(text: str) -> dict[str, str]:
    """TORCHSAN_OPTIONS="level=thorough:ignore=TS109,TS119": pairs parted by colons, as other sanitizers have it."""
    pairs = {}
    for part in filter(None, (part.strip() for part in re.split(r"[:;]", text))):
        key, equals, value = part.partition("=")
        if not equals:
            raise OptionError(f"TORCHSAN_OPTIONS: {part!r} is not of the form key=value")
        pairs[key.strip()] = value.strip()
    return pairs


def _pyproject() -> dict[str, Any]:
    """[tool.torchsan] of the nearest pyproject.toml upwards of the current folder. An unreadable one says nothing."""
    try:
        here = Path.cwd()
    except OSError:
        return {}
    for folder in (here, *here.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            try:
                table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("torchsan", {})
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError):
                return {}
            return table if isinstance(table, dict) else {}
    return {}


assert set(DEFAULT_SELECT) <= set(GROUPS)
