"""The files of a project as the dry run needs them: found by import, read once, their trees made unit by unit."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from torchlint.dryrun.flow import take_apart
from torchlint.dryrun.scout.makers import Odd
from torchlint.dryrun.scout.unit import Light, light
from torchlint.dryrun.source_text import Parsed, TooLong, text_of, unit_text
from torchlint.dryrun.values import Event
from torchlint.files.modules import Modules
from torchlint.files.parse import parse_source
from torchlint.files.project import MOST_BYTES, Neighbour, Project
from torchlint.files.source import SourceError
from torchlint.sieve.facts import FileFacts, Unit, units_of
from torchlint.sieve.glimpse import Glimpse
from torchlint.sieve.looks import glimpse_of
from torchlint.sieve.reader import read_facts

MOST_TEXT = 1_500_000  # characters whose libcst trees are kept, at about 50 bytes each
MOST_LIGHT = 500_000  # characters whose trees the scout keeps
MOST_READ = 5  # files whose trees are kept as Python's own parser made them, until the scout asks for them
MOST_FILES = 600  # that something is known of


class World:
    """All files that were asked for so far. One per process.

    Args:
        roots: folders from which absolute imports resolve, besides what each file's place tells.
        modules: what finds imports, with the disk that all is read from; its own where None.
    """

    def __init__(self, roots: Sequence[str] = (), modules: Modules | None = None):
        self.modules = modules or Modules(roots)
        self.disk = self.modules.disk
        self._facts: dict[str, FileFacts | None] = {}  # those used last are last, as of trees
        self._on_disk: set[str] = set()  # whose facts are of what is on disk
        self._judged = ""
        self._trees: dict[Unit, int] = {}  # how many characters each is of
        self.scouting = False  # whether trees are those of the scout
        self.summaries = True  # whether runs go by summaries
        self._lights: dict[Unit, int] = {}  # as `_trees`, of the scout's
        self._read: dict[str, FileFacts] = {}  # files whose units may have Python's own tree yet
        self.hashes: dict[str, str | None] = {}  # of files, folders and questions: see files/modules.py
        self.asked: set[str] = set()
        self.read_whole: set[str] = set()  # of these, files that somebody read all of
        self.events: list[Event] = []  # of all runs since the last `forget`
        self._project: Project | None = None  # the last one that was read
        self._before: dict[str, Neighbour] = {}  # the files of the one that was read before `look_again`

    def look_again(self, digest: Callable[[str], str | None]) -> None:
        """Forgets what does not hold any more, where files may have changed since the last question.

        Args:
            digest: the sha256 of files as they are now.
        """
        self._on_disk = {path for path in self._on_disk if self.hashes.get(path) == digest(path)}
        self.hashes = {path: self.hashes.get(path) for path in self._on_disk}
        if self._project is not None:
            self._before, self._project = self._project.files, None

    def add(self, path: str, text: str) -> FileFacts:
        """Takes in the file that is judged next, whose text is at hand and need not be what is on disk.

        Raises:
            SyntaxError: the text does not parse.
        """
        self._judged = os.path.abspath(path) if path else path
        self._on_disk.discard(self._judged)
        return self._take(self._judged, text)

    def _take(self, path: str, text: str) -> FileFacts:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._facts.get(path)
        if known is None or known.digest != digest:
            before, known = known, read_facts(path, text)
            known.digest = digest
            if before is not None:
                self._keep_trees(before, known)
            self._read.pop(path, None)
            self._read[path] = known
            while len(self._read) > MOST_READ:
                _drop_nodes(self._read.pop(next(iter(self._read))))
        self._facts.pop(path, None)
        self._facts[path] = known
        return known

    def _keep_trees(self, old: FileFacts, new: FileFacts) -> None:
        """Gives the units of a file the trees that units of the same text had before it was changed. A tree goes to one unit:
        what is found is told apart by its node."""
        with_trees: dict[tuple[bool, str], list[Unit]] = {}
        for unit in units_of(old):
            if unit.light or unit.parsed:
                with_trees.setdefault((unit.indent, unit_text(old, unit)), []).append(unit)
        for unit in units_of(new) if with_trees else ():
            alike = with_trees.get((unit.indent, unit_text(new, unit)))
            if not alike:
                continue
            before = alike.pop()
            unit.light, unit.parsed, before.light, before.parsed = before.light, before.parsed, None, None
            for tree, kept in ((unit.light, self._lights), (unit.parsed, self._trees)):
                size = kept.pop(before, 0)
                if tree:
                    tree.move(new, unit)
                    kept[unit] = size

    def forget(self) -> None:
        """Drops the events of finished runs, and what takes memory once there is much of it, longest not used first: libcst trees,
        and what is known of files. Whoever imports a dropped file reads it again."""
        self.forget_events()
        for path in list(self._facts)[: max(0, len(self._facts) - MOST_FILES)]:
            facts = self._facts.pop(path)
            self._on_disk.discard(path)
            for unit in units_of(facts) if facts is not None else ():
                self._trees.pop(unit, None)
                self._lights.pop(unit, None)
                unit.parsed = unit.light = None
        for unit in _oldest(self._trees, MOST_TEXT):
            unit.parsed = None
        for unit in _oldest(self._lights, MOST_LIGHT):
            unit.light = None
        judged = self._read.pop(self._judged, None)
        if judged is not None:
            _drop_nodes(judged)  # what of it is asked for later is little

    def forget_events(self) -> None:
        """Drops the events of finished runs."""
        take_apart(self.events)

    def facts(self, path: str) -> FileFacts | None:
        """The facts of the judged file or of one on disk; None if it cannot be read or does not parse."""
        first = path not in self.asked
        self.asked.add(path)
        if path not in self._on_disk and path != self._judged:
            try:
                data = self.disk.read(path, MOST_BYTES)
                self.hashes[path] = hashlib.sha256(data).hexdigest()
                # As it is read to be judged: what an importer sees must not depend on which of the two came first.
                self._take(path, parse_source(path, data).text)
            except (OSError, SourceError, SyntaxError):
                self.hashes.setdefault(path, self.disk.digest(path))
                self._facts[path] = None
            self._on_disk.add(path)
        found = self._facts[path] = self._facts.pop(path)
        if first and found is not None and path != self._judged:
            found.seen.begin()
        return found

    def begin(self) -> None:
        """Begins with a file: nothing was asked for it yet."""
        self.asked, self.read_whole = set(), set()

    def glimpses(self) -> dict[str, Glimpse]:
        """What was looked at, since `begin`, of files of which that was not all."""
        read = (self._facts.get(path) for path in sorted(self.asked - self.read_whole - {self._judged}))
        found = ((facts.path, glimpse_of(facts)) for facts in read if facts is not None)
        return {path: glimpse for path, glimpse in found if glimpse is not None}

    def parse(self, facts: FileFacts, unit: Unit) -> Parsed | Light | None:
        """The tree of a unit; None where libcst cannot parse what the C parser could."""
        facts.seen.units["tree"].add(unit)
        if self.scouting:
            found = self._light(facts, unit)
            if found is not None:
                return found
        if unit.parsed is None:
            self._trees[unit] = _size(facts, unit)
            try:
                unit.parsed = Parsed(facts, unit)
            except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError, TooLong):
                unit.parsed = False
        else:
            self._trees[unit] = self._trees.pop(unit)
        return unit.parsed or None

    def _light(self, facts: FileFacts, unit: Unit) -> Light | None:
        """The scout's tree of a unit; None where it has none of its own."""
        if unit.light is None:
            self._lights[unit] = _size(facts, unit)
            try:
                text_of(facts, unit)
                unit.light = light(facts, unit)
            except (Odd, RecursionError, TooLong):
                unit.light = False
        else:
            self._lights[unit] = self._lights.pop(unit)
        return unit.light or None

    def resolve(self, name: str, importer: str) -> str | None:
        """The file of the module `name` (with leading dots if relative) as `importer` would import it; None if it is not
        a file of the project."""
        folder, added = os.path.dirname(importer), self._added(importer)
        self.ask("module", folder, name, added)
        return self.modules.module(folder, name, added)

    def is_package(self, name: str, importer: str) -> str | None:
        """The folder of a namespace package (one without __init__.py), if `name` is one."""
        folder, added = os.path.dirname(importer), self._added(importer)
        self.ask("package", folder, name, added)
        return self.modules.package(folder, name, added)

    def _added(self, importer: str) -> tuple[str, ...]:
        """The folders that a file puts on the import path by itself."""
        facts = self._facts.get(importer)
        return facts.added if facts is not None else ()

    def ask(self, kind: str, folder: str, name: str = "", added: tuple[str, ...] = ()) -> None:
        """Makes the verdict depend on what a question about the project's folders is answered with."""
        asked = self.modules.question(kind, folder, name, added)
        if asked is not None:
            self.asked.add(asked[0])
            self.hashes.setdefault(*asked)

    def project_of(self, path: str) -> Project | None:
        """The project of a file on disk; None where it is no file, or the project is too large to be read. Who asks for it
        makes the verdict depend on all its files and folders."""
        if not path or not self.disk.is_file(path):
            return None
        folder = os.path.dirname(path)
        self.ask("project", folder)
        root = self.modules.project(folder)
        if self._project is None or self._project.root != root:
            self._project = Project(self.modules, root, self._before)
        project = self._project
        read = {file.path: file.digest for file in project.files.values()}
        for asked, digest in (read | project.folders | project.unread | project.questions).items():
            self.asked.add(asked)
            self.hashes.setdefault(asked, digest)
        self.read_whole.update(read)
        return project if project.complete else None


def _size(facts: FileFacts, unit: Unit) -> int:
    return len(unit_text(facts, unit))


def _drop_nodes(facts: FileFacts) -> None:
    for unit in units_of(facts):
        unit.nodes = None


def _oldest(sizes: dict[Unit, int], most: int) -> Iterator[Unit]:
    """Takes those used longest ago out of what is kept, as long as there is too much of it."""
    too_many = sum(sizes.values()) - most
    while too_many > 0:
        unit = next(iter(sizes))
        too_many -= sizes.pop(unit)
        yield unit
