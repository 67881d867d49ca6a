"""One run: the files found, the cache asked, the rest judged, and what came of it made fit to be told."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from torchlint.catalogue.pages import Catalogue, Rule
from torchlint.files.disk import Disk, Unsaved
from torchlint.files.globs import Patterns
from torchlint.files.modules import Modules, is_question
from torchlint.files.parse import parse_source
from torchlint.files.source import Problem, Source, SourceError, map_locations
from torchlint.findings import Finding, Location
from torchlint.run.around import Around
from torchlint.run.cache import Cache
from torchlint.run.digests import Digests
from torchlint.run.discovery import Discovery, File, is_text
from torchlint.run.fresh_verdicts import Fresh
from torchlint.run.judge import Order, Verdict
from torchlint.run.noqa import Noqa, Unused, unused_noqa
from torchlint.run.one import MOST_UNSAVED, Judging
from torchlint.run.projects import Lookup, Projects
from torchlint.run.users import Users
from torchlint.run.workers import default_jobs, judge_all
from torchlint.settings.config import Config
from torchlint.settings.lookup import cache_folder
from torchlint.settings.rulebook import matchers_of
from torchlint.settings.selection import active, rules_of


class Outcome(msgspec.Struct):
    """What a run found, what it could not judge, and how many files it looked at. Filenames are as people see them."""

    findings: list[Finding]
    problems: list[Problem]
    files: int
    warnings: list[str] = []
    elsewhere: list[Finding] = []  # what stands in files of the project that were not asked for

    @property
    def failed(self) -> bool:
        """Whether anything could not be judged at all; what was judged in part is only said."""
        return any(not problem.note for problem in self.problems)


class Tick(msgspec.Struct, frozen=True):
    """How far a run is: bytes judged of bytes to judge."""

    done: int
    total: int


class Look(msgspec.Struct, frozen=True):
    """A file that was judged in a run and not known before: how long it took, and what that may be due to."""

    path: str
    seconds: float
    size: int
    others: int  # files that were looked into for it
    in_part: bool


class Sources:
    """The files that findings stand in, read once each, to look up their lines and their `# noqa` comments."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or Disk()
        self._sources: dict[str, Source | None] = {}
        self._digests: dict[str, str] = {}
        self._noqa: dict[str, Noqa] = {}
        self._lines: dict[str, list[str]] = {}
        self._known: tuple[dict[str, Any], ...] = (self._sources, self._digests, self._noqa, self._lines)

    def add(self, source: Source, digest: str = "") -> None:
        """Take a source that did not come from a file, or a newer state of one, and the sha256 of its bytes."""
        self._drop(source.filename)
        self._sources[source.filename] = source
        self._digests[source.filename] = digest

    @contextmanager
    def trying(self, filename: str) -> Iterator[None]:
        """What is added of a file in this block does not stand there, and is forgotten with its end."""
        kept = [(known, known[filename]) for known in self._known if filename in known]
        try:
            yield
        finally:
            self._drop(filename)
            for known, value in kept:
                known[filename] = value

    def _drop(self, filename: str) -> None:
        for known in self._known:
            known.pop(filename, None)

    def source(self, filename: str) -> Source | None:
        """The file as Python text; None where it cannot be read."""
        if filename not in self._sources:
            try:
                raw = self._disk.read(filename)
                self._digests[filename] = hashlib.sha256(raw).hexdigest()
                self._sources[filename] = parse_source(filename, raw)
            except (OSError, SourceError):
                self._sources[filename] = None
        return self._sources[filename]

    def digest(self, filename: str) -> str:
        """The sha256 of the bytes that a file was read from; "" where it cannot be read."""
        self.source(filename)
        return self._digests.get(filename, "")

    def hides(self, finding: Finding) -> bool:
        """Whether a `# noqa` comment of the file that the finding stands in hides it."""
        noqa = self._comments(finding.location.filename)
        return noqa is not None and noqa.hides(finding)

    def unused(self, filename: str) -> list[Unused]:
        """The `# noqa` comments of a file that hold codes which have hidden nothing so far."""
        noqa = self._comments(filename)
        return noqa.unused() if noqa is not None else []

    def _comments(self, name: str) -> Noqa | None:
        source = self.source(name)
        if source is not None and name not in self._noqa:
            self._noqa[name] = Noqa(source)
        return self._noqa.get(name)

    def line(self, location: Location) -> str | None:
        """The text of the row a location begins on; None where it cannot be read."""
        source = self.source(location.filename)
        if source is None:
            return None
        if location.filename not in self._lines:
            self._lines[location.filename] = source.lines()
        lines, row = self._lines[location.filename], source.row_of(location)
        return lines[row - 1] if 0 < row <= len(lines) else None


class Runner:
    """Runs the active rules over files as the settings say.

    Args:
        config: the settings.
        rules: the active rules.
        catalogue: all rules; per-file-ignores may name inactive ones.
        disk: what findings are looked up in.
        lookup: the settings for a run over a folder, to find out what is in a project; these settings where None.
    """

    def __init__(
        self, config: Config, rules: Sequence[Rule], catalogue: Catalogue, disk: Disk | None = None,
        lookup: Lookup | None = None,
    ):
        self.config = config
        disk = disk or Disk()
        self.order = Order(
            tuple(rules), config.torch_version, _roots(config, disk), matchers_of(rules), config.strict_tests,
            releases=config.releases, newest=config.newest,
        )
        self._lookup: Lookup = lookup or (lambda root: (config, None))
        self.projects = Projects(self._lookup)  # another may be given
        self.sources = Sources(disk)
        self.fresh = Fresh()
        self.heeds_noqa = True
        self.looks: list[Look] = []
        self._judged: list[str] = []
        self.apart: frozenset[str] = frozenset()
        self.others = 0  # how many files were judged, or known, for what they make known of those that were asked for
        self._ignores = _PerFile(config, catalogue)
        self._unfixable = _unfixable(config, catalogue)

    def run(
        self,
        paths: Iterable[str],
        *,
        jobs: int | None = None,
        cache_dir: Path | None = None,
        use_cache: bool = True,
        force_exclude: bool = False,
        progress: Callable[[Tick], None] = lambda tick: None,
    ) -> Outcome:
        """The outcome of judging everything under `paths`. Bad files become problems; nothing is raised for them."""
        discovery, paths = Discovery(self.config, force_exclude), [os.path.abspath(path) for path in paths]
        files = discovery.find(paths)
        self.projects = Projects(self._lookup, filter(os.path.isdir, paths), files)
        return self.run_files(
            files, discovery.problems, jobs=jobs, cache_dir=cache_dir, use_cache=use_cache, progress=progress
        )

    def run_files(
        self,
        files: Sequence[File],
        problems: Sequence[Problem] = (),
        *,
        jobs: int | None = None,
        cache_dir: Path | None = None,
        use_cache: bool = True,
        progress: Callable[[Tick], None] = lambda tick: None,
    ) -> Outcome:
        """The same, of files that were found already, with the problems of finding them. Files of their projects that use them
        are judged, too, for what that makes known of them; `apart` are those for which they were not."""
        self.sources = Sources()
        self._judged = [file.path for file in files]
        modules = Modules(self.order.roots)
        digests = Digests(modules=modules)
        cache = self.cache(digests, cache_dir) if use_cache else None
        users = Users(modules, cache)
        around = Around(self.projects, users, self._judged, self.order.strict_tests)
        self.apart, self.others = around.apart, len(around.files)
        verdicts: dict[str, Verdict] = {}
        todo: list[File] = []
        for file in (*files, *around.files):
            known = self.fresh.get(file.path, digests)
            if known is not None and cache:
                cache.put(file.path, known)
            elif cache:
                known = cache.get(file.path)
            if known is None:
                todo.append(file)
            else:
                verdicts[file.path] = known
        done, total = 0, sum(file.size for file in todo)
        warnings: list[str] = []
        try:
            self.looks = []
            for file, verdict, seconds in judge_all(todo, self.order, jobs or default_jobs()):
                verdicts[file.path] = verdict
                others = sum(digest is not None and not is_question(path) for path, digest in verdict.depends.items())
                in_part = any(problem.note for problem in verdict.problems)
                self.looks.append(Look(file.path, seconds, file.size, others, in_part))
                if any(finding.fix for finding in verdict.findings):
                    self.fresh.put(file.path, verdict)
                if cache:
                    cache.put(file.path, verdict)
                done += file.size
                progress(Tick(done, total))
        finally:  # an interrupted run keeps what it found out
            warnings += self._saved(cache, cache_dir)
        said = [problem for path in self._judged for problem in verdicts[path].problems]
        findings, elsewhere = around.split({path: verdict.findings for path, verdict in verdicts.items()})
        outcome = self.outcome(findings, [*problems, *said, *around.notes()], len(files), warnings)
        outcome.elsewhere = self.fit(elsewhere)
        return outcome

    def run_text(
        self, filename: str, raw: bytes, *, cache_dir: Path | None = None, use_cache: bool = False
    ) -> Outcome:
        """The outcome of judging `raw` as if it were the content of `filename`, which need not exist. Where it is the content,
        the cache knows it, and is told, as for the file."""
        path, saves = os.path.abspath(filename), use_cache and is_text(os.path.abspath(filename))
        try:
            self.sources.add(parse_source(path, raw), hashlib.sha256(raw).hexdigest())
        except SourceError:
            pass  # the judge says why
        findings, problems, judging = self.look_at(path, raw, cache_dir, saves)
        self.apart, cache = judging.apart, judging.cache
        return self.outcome(findings, problems, 1, self._saved(cache, cache_dir))

    def look_at(
        self, path: str, raw: bytes, cache_dir: Path | None = None, use_cache: bool = False, most: int | None = MOST_UNSAVED
    ) -> tuple[list[Finding], list[Problem], Judging]:
        """The findings that stand in the file at `path`, if `raw` were its content, what is said of judging it, and what has judged
        it; `most` is how many files may be judged anew for a text that is not saved."""
        saved = Disk().digest(path) == hashlib.sha256(raw).hexdigest()
        disk = Disk() if saved else Unsaved()
        if isinstance(disk, Unsaved):
            disk.put(path, raw)
            disk.look_again()
        modules = Modules(self.order.roots, disk)
        digests = Digests(modules=modules)
        cache = self.cache(digests, cache_dir) if use_cache else None
        judging = Judging(self.order, self.projects, modules, self.fresh, cache, saved, most)
        findings, problems = judging.of(path, raw, digests)
        return findings, problems, judging

    def cache(self, digests: Digests, folder: Path | None = None) -> Cache:
        """The cache in the folder that was asked for, or where the settings have it."""
        place = folder or cache_folder(self.config)
        inside = None if folder else place.parent if self.config.cache_dir is None else self.config.root
        return Cache(place, self.order, digests, inside)

    def _saved(self, cache: Cache | None, folder: Path | None) -> list[str]:
        """Writes what the cache was told, and says what went wrong, where the place is one that somebody asked for."""
        trouble = cache.save() if cache else None
        asked = folder or self.config.cache_dir or os.path.islink(cache_folder(self.config))
        return [trouble] if trouble and asked else []

    def outcome(
        self, findings: Iterable[Finding], problems: Iterable[Problem], files: int, warnings: list[str]
    ) -> Outcome:
        """What is told of findings and problems, with file names as people see them."""
        shown = _Shown()
        told = [map_locations(finding, shown.location) for finding in self.visible(findings)]
        told.sort(key=lambda finding: finding.sort_key)
        said = {msgspec.structs.replace(problem, filename=shown.name(problem.filename)) for problem in problems}
        in_order = sorted(said, key=lambda one: (one.filename, one.cell or 0, one.row or 0, one.message))
        return Outcome(told, in_order, files, warnings)

    def visible(self, findings: Iterable[Finding], noqa: bool = True) -> list[Finding]:
        """The findings that are neither hidden by `# noqa` (where it is heeded) nor ignored for their file, each once, with
        the severity that the settings give their group, in order of place. Which of several that say the same is told does
        not depend on the order in which they come. Filenames are as they were.
        """
        told: dict[tuple, Finding] = {}
        for finding in findings:
            known = told.setdefault(finding.sort_key, finding)
            if known != finding:  # as two files see it that call one helper
                told[finding.sort_key] = _careful(min(known, finding, key=_rank), known, finding)
        kept = []
        for finding in told.values():
            if self._ignores.hide(finding) or (noqa and self.heeds_noqa and self.sources.hides(finding)):
                continue
            severity = self.config.severity.get(finding.group, finding.severity)
            fix = None if finding.number in self._unfixable else finding.fix
            kept.append(msgspec.structs.replace(finding, severity=severity, fix=fix))
        return sorted(kept, key=lambda finding: finding.sort_key)

    def fit(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings from elsewhere, with full file names, made fit to be told beside those of the run: see `visible`."""
        shown = _Shown()
        return [map_locations(finding, shown.location) for finding in self.visible(findings)]

    @property
    def judged(self) -> frozenset[str]:
        """The files that the last run was asked to judge, by their full paths."""
        return frozenset(map(os.path.abspath, self._judged))

    def unused_comments(self) -> list[Finding]:
        """A finding for each `# noqa: TLnnn` in the judged files that hides nothing, though its rule is active. Asked after
        the findings were looked at."""
        shown = _Shown()
        known = sorted(set(self._judged) - self.apart)  # of what the others hide not all is known
        return [map_locations(finding, shown.location) for path in known for finding in self._unused(path)]

    def _unused(self, path: str) -> Iterator[Finding]:
        active = [f"TL{rule.code:03d}" for rule in self.order.rules]
        for comment in self.sources.unused(path):
            words = [word for word in comment.words if any(code.startswith(word) for code in active)]
            if words:
                yield unused_noqa(comment, words).made_for({path: self.sources.digest(path)})

    def unused_comments_in(self, path: str, raw: bytes) -> list[Finding]:
        """The same for one file, by its full path, if `raw` were its content. Filenames are as they were."""
        with self.sources.trying(path):
            self.sources.add(parse_source(path, raw), hashlib.sha256(raw).hexdigest())
            findings, _, judging = self.look_at(path, raw, most=None)
            self.visible(findings)
            return [] if judging.apart else list(self._unused(path))

    def line(self, location: Location) -> str | None:
        """The source line that a location of an outcome begins on; None where it cannot be read."""
        filename = os.path.abspath(location.filename)
        return self.sources.line(msgspec.structs.replace(location, filename=filename))

    def source(self, filename: str) -> Source | None:
        """A file, by its full path, as it was judged; None where it cannot be read."""
        return self.sources.source(filename)

    def judged_line(self, finding: Finding) -> str | None:
        """The source line that a finding of an outcome stands on; None where its file is not any more what was judged."""
        if finding.digest and finding.digest != self.sources.digest(os.path.abspath(finding.location.filename)):
            return None
        return self.line(finding.location) or ""


def _careful(told: Finding, *seen: Finding) -> Finding:
    """A finding that several files have, with a fix that is unsafe where one of them could not tell that it is safe."""
    unsafe = [one.fix for one in seen if one.fix is not None and one.fix.applicability == "unsafe"]
    safe = told.fix is not None and told.fix.applicability == "safe"
    return msgspec.structs.replace(told, fix=unsafe[0]) if safe and unsafe else told


def _rank(finding: Finding) -> tuple:
    """What goes first of findings that say the same of one place: what shows more lines and has a fix, then what is first by
    the places it shows, and by all else that it says."""
    places = [(at.filename, at.cell or 0, at.row, at.column) for at in (item.location for item in finding.related)]
    return -len(places), finding.fix is None, places, msgspec.json.encode(finding)


class _PerFile:
    """The settings' per-file-ignores."""

    def __init__(self, config: Config, catalogue: Catalogue):
        self._root = str(config.root)
        self._known: dict[str, frozenset[int]] = {}
        self._table = []
        for pattern, selectors in (*config.per_file_ignores.items(), *config.extend_per_file_ignores.items()):
            codes = frozenset(code for selector in selectors for code in rules_of(selector, catalogue)[0])
            # "!tests/*" means: everywhere but there.
            self._table.append((Patterns([pattern.removeprefix("!")]), pattern.startswith("!"), codes))

    def hide(self, finding: Finding) -> bool:
        """Whether the finding's rule is ignored in the finding's file."""
        return bool(self._table) and finding.number in self._codes(finding.location.filename)

    def _codes(self, filename: str) -> frozenset[int]:
        if filename not in self._known:
            name = os.path.relpath(filename, self._root).replace(os.sep, "/")
            if name.startswith("../"):
                name = os.path.basename(filename)
            matching = (codes for one, negated, codes in self._table if bool(one.cover(name, False)) != negated)
            self._known[filename] = frozenset().union(*matching)
        return self._known[filename]


def _unfixable(config: Config, catalogue: Catalogue) -> frozenset[int]:
    """The rules whose findings are not mended."""
    if config.fixable is None and not config.unfixable:
        return frozenset()
    fixable = active(catalogue, config.fixable or () if config.fixable is not None else ("ALL",), config.unfixable)
    return frozenset(catalogue.rules) - {rule.code for rule in fixable}


class _Shown:
    """File names as people see them: relative to the working folder where they lie below it."""

    def __init__(self) -> None:
        here = os.getcwd()
        self._here = here if here.endswith(os.sep) else here + os.sep

    def name(self, filename: str) -> str:
        return filename.removeprefix(self._here) or "."

    def location(self, location: Location) -> Location:
        return msgspec.structs.replace(location, filename=self.name(location.filename))


def _roots(config: Config, disk: Disk) -> tuple[str, ...]:
    """The folders that absolute imports start from, besides what the place of each file tells: what settings say holds for them
    all. Without settings, nothing does."""
    found = (str(config.root), str(config.root / "src")) if config.path is not None else ()
    return tuple(folder for folder in found if disk.is_folder(folder))
