"""What a call from Python asks for: which rules, by which settings, for which torch."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

import msgspec

from torchlint.catalogue.pages import Catalogue, Rule
from torchlint.settings.config import Config
from torchlint.settings.keys import parse_version
from torchlint.settings.lookup import Nearest, load
from torchlint.settings.requirements import without_torch
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import asked_for


class Choice:
    """The words of a call, which mean what the options of the same names mean to the command.

    Args:
        select: selectors of rules, in one text with commas or in several.
        ignore: the same.
        extend_select: the same.
        torch_version: a release, such as "2.6".
        settings: the settings file; None has it looked for.
        isolated: without any settings file.

    Raises:
        ValueError: `torch_version` is no release.
    """

    def __init__(
        self,
        select: str | Sequence[str] | None = None,
        ignore: str | Sequence[str] | None = None,
        extend_select: str | Sequence[str] | None = None,
        torch_version: str | None = None,
        settings: str | PathLike[str] | None = None,
        isolated: bool = False,
    ):
        self._select, self._ignore, self._extend = _words(select), _words(ignore), _words(extend_select)
        self._release = None if torch_version is None else parse_version(torch_version)
        if torch_version is not None and self._release is None:
            raise ValueError(f"torch_version: {torch_version!r} is no release such as '2.6'")
        self._settings = None if settings is None else Path(settings)
        self._isolated = isolated

    def load(self, places: Sequence[Path]) -> tuple[Config, tuple[Rule, ...], Catalogue]:
        """The settings for some paths as they are now, the active rules, and all rules.

        Raises:
            ConfigError, PageError, SelectorError: the settings, a rule page or a selector cannot be used.
        """
        return self.of(load(places, self._settings, self._isolated))

    def nearest(self, config: Config, places: Sequence[Path]) -> Nearest | None:
        """What finds the settings of folders, where they may have their own; `config` are those that all paths share."""
        return None if self._settings or self._isolated else Nearest(config, places)

    def lookup(self, folder: str) -> tuple[Config, Nearest | None]:
        """The settings for a run over a folder, and those of the folders in it."""
        places = [Path(folder)]
        config = load(places, self._settings, self._isolated)
        return config, self.nearest(config, places)

    def of(self, config: Config) -> tuple[Config, tuple[Rule, ...], Catalogue]:
        """The same of settings that were read already."""
        if self._release is not None:
            config = msgspec.structs.replace(config, torch_version=self._release, newest=without_torch(config.newest))
        catalogue = load_rules(config)
        return config, asked_for(catalogue, config, self._select, self._ignore, self._extend), catalogue


def paths_of(paths: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[str]:
    """One path or several, as a list of texts."""
    return [fspath(paths)] if isinstance(paths, (str, PathLike)) else [fspath(path) for path in paths]


def _words(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    parts = [given] if isinstance(given, str) else given
    return tuple(word.strip() for part in parts for word in part.split(",") if word.strip())
