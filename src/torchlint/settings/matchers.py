"""Matchers of one's own, in Python: where they are. Finding them runs nothing of theirs.

They come from packages that are installed beside torchlint (entry points of the group `torchlint.matchers`, called by the
rule's number) and from the files that the environment names (`TORCHLINT_MATCHERS`: files or folders of `971_some_name.py`).
Never from a tree that is linted: its settings cannot name any, and packages that lie in the working folder do not count.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from torchlint.catalogue.pages import PageError
from torchlint.files.reading import read_bytes
from torchlint.files.source import describe
from torchlint.settings.variables import MATCHERS as VARIABLE

GROUP = "torchlint.matchers"
_FILE = re.compile(r"(\d{3})_\w+\.py")
_MOST_FILES = 2_000  # of a package, for the hash


class Matcher(msgspec.Struct, frozen=True):
    """The matcher of one rule: a file, or a module of an installed package; `digest` is of all Python code around it."""

    code: int
    module: str
    file: str
    digest: str

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.module or self.file


def matchers(with_packages: bool) -> dict[int, Matcher]:
    """The matchers by the numbers of their rules.

    Args:
        with_packages: whether an installed package may have any.

    Raises:
        PageError: a matcher cannot be found, or two have the same number.
    """
    found: dict[int, Matcher] = {}
    for one in (*_of_environment(), *(_of_packages() if with_packages else ())):
        other = found.setdefault(one.code, one)
        if other != one:
            raise PageError(f"{one.title}: number {one.code} has a matcher already: {other.title}")
    return found


def _of_environment() -> Iterator[Matcher]:
    for entry in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        place = Path(entry).absolute()
        try:
            files = sorted(place.glob("[0-9]*.py")) if place.is_dir() else [place]
            around = sorted(place.glob("*.py")) if place.is_dir() else [place]
            digest = _digest(around)
        except (OSError, ValueError) as error:
            raise PageError(f"{VARIABLE}: {entry}: cannot be read: {_why(error)}") from None
        if not files:
            raise PageError(f"{VARIABLE}: {entry}: no files there are called like 971_some_name.py")
        for file in files:
            named = _FILE.fullmatch(file.name)
            if named is None:
                raise PageError(f"{VARIABLE}: {file}: a matcher's file is called by its rule's number: 971_some_name.py")
            yield Matcher(int(named[1]), "", str(file), digest)


def _of_packages() -> Iterator[Matcher]:
    from importlib import metadata
    from importlib.util import find_spec

    for distribution in metadata.distributions(path=list(_trusted(sys.path))):
        for entry in distribution.entry_points:
            if entry.group != GROUP:
                continue
            if not re.fullmatch(r"\d{3}", entry.name):
                raise PageError(f"{entry.value}: in {GROUP}, an entry is called by its rule's number, not {entry.name!r}")
            top = entry.module.partition(".")[0]
            try:
                spec = find_spec(top)
                places = list(spec.submodule_search_locations or [os.path.dirname(spec.origin or "")]) if spec else []
                files = [file for place in places for file in sorted(Path(place).rglob("*.py"))]
                if not files:
                    raise ValueError("there is no such package")
                digest = _digest(files)
            except (ImportError, OSError, ValueError) as error:
                raise PageError(f"{entry.value}: a matcher of an installed package cannot be found: {_why(error)}") from None
            yield Matcher(int(entry.name), entry.module, "", digest)


def _trusted(path: Iterable[str]) -> Iterator[str]:
    """The places of packages, but for the working folder, which `python -m` puts first: it may be anybody's tree. Where
    PYTHONPATH names it, somebody wants it."""
    here = os.path.realpath(os.curdir)
    wanted = {os.path.realpath(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place}
    for place in path:
        real = os.path.realpath(place or os.curdir)
        if real != here or real in wanted:
            yield place


def _digest(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for count, file in enumerate(files):
        if count >= _MOST_FILES:
            raise ValueError(f"holds more than {_MOST_FILES:,} files")
        found.update(b"%s\0%s\0" % (os.fsencode(file), hashlib.sha256(read_bytes(file)).digest()))
    return found.hexdigest()


def _why(error: Exception) -> str:
    return describe(error) if isinstance(error, OSError) else str(error)
