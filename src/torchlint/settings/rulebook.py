"""The catalogue of a run: the shipped pages, the user's own folders of pages, and those of installed packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.catalogue.pages import Catalogue, PageError, Rule, catalogue, read_page
from torchlint.files.reading import read_bytes
from torchlint.files.source import describe
from torchlint.settings.config import Config, ConfigError
from torchlint.settings.selection import check_all
from torchlint.settings.variables import MATCHERS

if TYPE_CHECKING:
    from torchlint.settings.matchers import Matcher

ENTRY_POINTS = "torchlint.rules"
_MOST_BYTES = 10_000_000  # of a list of entry points
_MOST_ENTRIES = 20_000  # in a folder of extend-rules: `extend-rules = ["/"]` would go through the disk


def load_rules(config: Config) -> Catalogue:
    """All rules that the settings make known.

    Raises:
        ConfigError: a folder of extend-rules is not there or holds no page, or the settings name an unknown rule.
        PageError: a page cannot be used.
    """
    more: list[Rule] = list(_from_packages())
    for entry in config.extend_rules:
        folder = config.root / entry
        try:
            pages = pages_in(folder)
        except ValueError as error:
            raise config.complain("extend-rules", f"extend-rules: {entry!r} {error}", entry) from None
        more += map(page_at, pages)
    check_judged(more)
    known = Catalogue([*catalogue(), *more]) if more else catalogue()
    for key, selectors in (
        ("select", config.select or ()), ("ignore", config.ignore), ("extend-select", config.extend_select),
        ("fixable", config.fixable or ()), ("unfixable", config.unfixable),
        *(("per-file-ignores", codes) for codes in config.per_file_ignores.values()),
        *(("extend-per-file-ignores", codes) for codes in config.extend_per_file_ignores.values()),
    ):
        for selector in selectors:
            def complain(text: str, key: str = key, word: str = selector) -> ConfigError:
                return config.complain(key, f"{key}: {text}", word)

            check_all([selector], known, complain)
    return known


def pages_in(folder: Path) -> list[Path]:
    """The pages in a folder and below, links to folders left alone.

    Raises:
        ValueError: there is no such folder, or there are no pages in it, or it holds so much that it cannot be meant.
    """
    if "\0" in str(folder) or not folder.is_dir():
        raise ValueError("is no folder")
    found, seen = [], 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        seen += len(names) + len(folders)
        if seen > _MOST_ENTRIES:
            raise ValueError(f"holds more than {_MOST_ENTRIES:,} files and folders")
        found += [Path(place, name) for name in sorted(names) if name.endswith(".md")]
    if not found:
        raise ValueError("holds no rule pages (*.md)")
    return sorted(found)


def page_at(path: Path) -> Rule:
    try:
        return read_page(path)
    except OSError as error:
        raise PageError(f"{path}: cannot be read: {describe(error)}") from None
    except UnicodeDecodeError:
        raise PageError(f"{path}: not UTF-8") from None


def check_judged(rules: Iterable[Rule]) -> None:
    """Raises PageError for a page of somebody's own that nothing judges."""
    for rule in rules:
        if not rule.forms and rule.lint != "none" and rule.code not in matchers_found():
            raise PageError(
                f"{rule.path}: nothing judges this page: it has no [[order]], [[trait]] or [[call]], and there is no matcher with its "
                f'number in an installed package or in {MATCHERS}; lint = "none" says that torchlint is not to judge it'
            )


def matchers_of(rules: Iterable[Rule]) -> tuple[Matcher, ...]:
    """The matchers of one's own that some rules have. No rule of ours can be given one."""
    ours = catalogue().rules
    own = [rule.code for rule in rules if rule.code not in ours]
    if not own:
        return ()
    found = matchers_found()
    return tuple(found[code] for code in own if code in found)


def matchers_found() -> dict[int, Matcher]:
    """All matchers of one's own, by number.

    Raises:
        PageError: one cannot be found.
    """
    if not os.environ.get(MATCHERS) and not _announced(tuple(sys.path)):
        return {}
    from torchlint.settings.matchers import matchers

    return matchers(_announced(tuple(sys.path)))


@lru_cache(maxsize=1)
def _announced(path: tuple[str, ...]) -> bool:
    return any(map(_may_announce, path))


@lru_cache(maxsize=1)
def _from_packages() -> tuple[Rule, ...]:
    """The pages of installed packages; an entry point names the package whose folder holds them."""
    return tuple(rule for folder in _package_folders() for rule in map(page_at, sorted(folder.rglob("*.md"))))


def _may_announce(place: str) -> bool:
    """Whether a package in a place of `sys.path` may have rules of ours. importlib.metadata, which knows, reads all that
    is installed, longer than a run over one file takes; where it finds its entry points in text files, we look for our
    name first."""
    try:
        if not os.path.isdir(place or "."):
            return os.path.isfile(place)  # a zip file, for one
        for name in os.listdir(place or "."):
            if name.endswith(".egg"):
                return True
            if name.endswith((".dist-info", ".egg-info")):
                try:
                    text = read_bytes(os.path.join(place, name, "entry_points.txt"), _MOST_BYTES)
                except OSError:
                    continue
                if b"torchlint.rules" in text or b"torchlint.matchers" in text:
                    return True
    except OSError:
        pass
    return False


def _package_folders() -> Iterator[Path]:
    if not _announced(tuple(sys.path)):
        return
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    for entry in entry_points(group=ENTRY_POINTS):
        # Looking for a.b would import a: the first part is looked for, the rest are folders in it.
        top, *inner = entry.module.split(".")
        try:
            spec = find_spec(top)
        except (ImportError, ValueError) as error:
            raise PageError(f"{entry.value}: rules of an installed package cannot be found: {error}") from None
        if spec is None:
            raise PageError(f"{entry.value}: rules of an installed package cannot be found")
        yield from (Path(place, *inner) for place in spec.submodule_search_locations or ())
