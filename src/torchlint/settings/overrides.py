"""What options of a command lay over the settings of every file that it reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from torchlint.settings.config import ConfigError, Layer

Table = dict[str, tuple[str, ...]]


class Overrides(msgspec.Struct, frozen=True):
    """What was given, by the names of the settings; None where it was not. Patterns with a slash are meant from the working
    folder, as all paths on a command line. `inline` is what `--config KEY=VALUE` says."""

    inline: tuple[Layer, ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] | None = None
    per_file_ignores: Table | None = None
    extend_per_file_ignores: Table | None = None
    fixable: tuple[str, ...] | None = None
    unfixable: tuple[str, ...] | None = None
    torch_version: tuple[int, int] | None = None

    def __bool__(self) -> bool:
        return self != Overrides()

    @property
    def says_torch(self) -> bool:
        """Whether it says which torch is meant."""
        return self.torch_version is not None or any("torch-version" in layer.data for layer in self.inline)

    def over(self, data: dict[str, Any], root: Path) -> dict[str, Any]:
        """Settings with what was given over them, where `root` is the project's folder."""
        told = dict(data)
        if self.exclude is not None:
            told["exclude"] = _from(root, self.exclude)
        if self.extend_exclude is not None:
            told["extend-exclude"] = [*data.get("extend-exclude", ()), *_from(root, self.extend_exclude)]
        if self.per_file_ignores is not None:
            told["per-file-ignores"] = _table(root, self.per_file_ignores)
        if self.extend_per_file_ignores is not None:
            table = _table(root, self.extend_per_file_ignores)
            told["extend-per-file-ignores"] = {**data.get("extend-per-file-ignores", {}), **table}
        if self.fixable is not None:
            told["fixable"] = list(self.fixable)
        if self.unfixable is not None:
            told["unfixable"] = list(self.unfixable)
        if self.torch_version is not None:
            told["torch-version"] = ".".join(map(str, self.torch_version))
        return told


def overrides_of(inline: Sequence[str], **options: Any) -> Overrides:
    """What options say, by the names of the settings, and `--config KEY=VALUE`.

    Raises:
        ConfigError: a text is no setting, or a pattern matches nothing.
    """
    told = Overrides(**options)
    for key in ("exclude", "extend_exclude", "per_file_ignores", "extend_per_file_ignores"):
        for pattern in getattr(told, key) or ():
            from torchlint.files.globs import usable

            if not usable(pattern.removeprefix("!")):
                raise ConfigError(f"--{key.replace('_', '-')}: {pattern!r} is no pattern: nothing matches it")
    if not inline:
        return told
    from torchlint.settings.layers import given

    return msgspec.structs.replace(told, inline=tuple(map(given, inline)))


def _table(root: Path, table: Table) -> dict[str, list[str]]:
    return dict(zip(_from(root, table), map(list, table.values())))


def _from(root: Path, patterns: Iterable[str]) -> list[str]:
    """Patterns seen from the working folder, as they are seen from the project's."""
    here = os.path.relpath(os.getcwd(), root).replace(os.sep, "/")
    if here == "." or here.startswith(".."):
        return list(patterns)
    return [_below(here, pattern) for pattern in patterns]


def _below(here: str, pattern: str) -> str:
    sign, rest = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
    if "/" not in rest.rstrip("/") or rest.startswith("**/"):
        return pattern
    return f"{sign}/{here}/{rest.removeprefix('./').lstrip('/')}"
