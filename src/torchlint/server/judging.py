"""What is known of open documents: sessions, one a folder, asked by one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from torchlint.catalogue.pages import Rule
from torchlint.files.modules import INSTALLED
from torchlint.files.reading import read_bytes
from torchlint.files.source import Problem, map_locations
from torchlint.findings import Finding
from torchlint.run.one import STOPPED
from torchlint.run.session import Session
from torchlint.server.documents import Open
from torchlint.server.options import Options

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Verdict:
    """What is said of a document: findings, with full file names, and what could not be judged. `whole` is whether all files
    that use it were asked, as far as they are for a text that is not saved."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    whole: bool = True

    @property
    def broken(self) -> bool:
        """Whether the document could not be judged at all."""
        return not self.findings and any(not (problem.note or problem.internal) for problem in self.problems)


@dataclass
class _Kept:
    session: Session
    options: Options
    given: dict[str, bytes] = field(default_factory=dict)  # what the session was given, by path


class Judging:
    """Judges open documents by the settings of their folders. For one thread at a time."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def of(self, one: Open, opened: Iterable[Open], folder: str, options: Options, goes_on: Callable[[], bool]) -> Verdict:
        """The verdict on a document.

        Args:
            one: the document.
            opened: all that are open: what others hold counts, too.
            folder: where its settings are looked for from.
            options: what the client asks for.
            goes_on: asked before each of the files that use it is judged.

        Raises:
            ValueError: settings, rule pages or selectors cannot be used.
            OSError: the file cannot be read.
        """
        session = self.session(opened, folder, options)
        if INSTALLED.intersection(one.path.split(os.sep)) or session.leaves_out(one.path):
            return Verdict()
        found = session.check(one.path, goes_on=goes_on)
        findings = [map_locations(finding, _with_full_name) for finding in found]
        return Verdict(findings, found.problems, all(problem.message != STOPPED for problem in found.problems))

    def session(self, opened: Iterable[Open], folder: str, options: Options) -> Session:
        """The session of a folder, which knows what is open."""
        kept = self._kept.get(folder)
        if kept is None or kept.options != options:
            kept = self._kept[folder] = _Kept(Session(folder, **options.choice(folder)), options)
        unsaved = {one.path: one.raw for one in opened if not _is_saved(one)}
        for path in kept.given.keys() - unsaved.keys():
            kept.session.forget(path)
        for path, raw in unsaved.items():
            if kept.given.get(path) != raw:
                kept.session.changed(path, raw)
        kept.given = unsaved
        return kept.session

    def rule(self, code: str, one: Open, opened: Iterable[Open], folder: str, options: Options) -> Rule | None:
        """The page of a rule, as it is known where a document is."""
        return self.session(opened, folder, options).settings(one.path)[2].find(code)

    def leave(self, folders: Iterable[str]) -> None:
        """Forgets all but these folders."""
        kept = set(folders)
        self._kept = {folder: one for folder, one in self._kept.items() if folder in kept}


def _is_saved(one: Open) -> bool:
    """Whether a document is what is on disk, where it may begin with a mark that editors do not show."""
    try:
        return read_bytes(one.path).removeprefix(_BOM) == one.raw
    except (OSError, ValueError):
        return False


def _with_full_name(at):
    from msgspec.structs import replace

    return replace(at, filename=os.path.abspath(at.filename))
