"""Mends files: the fixes of findings, applied until nothing is left to fix, and taken back where they do harm."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from torchlint.files.garbage import no_gc
from torchlint.files.parse import parse_source
from torchlint.files.reading import read_bytes
from torchlint.files.source import Problem, Source, SourceError, describe, is_notebook
from torchlint.files.writing import Changed, replace
from torchlint.findings import Finding, Fix
from torchlint.fixes.edits import EditError, apply, span
from torchlint.fixes.elsewhere import Elsewhere
from torchlint.run.judge import Judge
from torchlint.run.runner import Runner

# A fix can make room for another one; more rounds than this would be two fixes undoing each other.
MOST_ROUNDS = 20


class Mended(msgspec.Struct):
    """What was done to one file: its content before and after, and how often each code was fixed."""

    path: str
    before: bytes
    after: bytes
    fixed: Counter


class TakenBack(msgspec.Struct, frozen=True):
    """A finding whose fix was tried, and why it did not stay."""

    finding: Finding
    why: str


class Fixer:
    """Mends the files of a run in memory. `taken_back` are the fixes that did not stay.

    Args:
        runner: the run, whose settings say which findings count.
        unsafe: apply unsafe fixes as well.
    """

    def __init__(self, runner: Runner, unsafe: bool = False):
        self._runner = runner
        self._unsafe = unsafe
        self._judge = Judge(runner.order)
        self._elsewhere = Elsewhere(runner.order, runner.fresh, self._around)
        self.problems: list[Problem] = []
        self.taken_back: list[TakenBack] = []

    def _around(self, path: str) -> Collection[str]:
        """The files that may use one: those of its project, or of the run where these are too many."""
        files = self._runner.projects.of(path).files
        return self._runner.judged if files is None else files

    def applicable(self, finding: Finding) -> bool:
        """Whether a finding has a fix that may be applied."""
        return finding.fix is not None and (self._unsafe or finding.fix.applicability == "safe")

    def mend_all(self, findings: Iterable[Finding], leave: Collection[str] = ()) -> list[Mended]:
        """What comes of fixing findings (with absolute filenames), file by file; files where nothing changes, those that
        the run was not asked to judge, and those to `leave`, are left out. Nothing is written. `problems` are files that
        cannot be read any more, or hold another text than the findings were made for."""
        by_file: dict[str, list[Finding]] = {}
        asked = self._runner.judged.difference(leave)
        for finding in findings:
            for name in {edit.location.filename for edit in finding.fix.edits} & asked if finding.fix else ():
                by_file.setdefault(name, []).append(finding)
        mended = []
        for path, some in sorted(by_file.items()):
            if not any(map(self.applicable, some)):
                continue
            try:
                raw = read_bytes(path)
            except OSError as error:
                self.problems.append(Problem(path, f"cannot be read: {describe(error)}"))
                continue
            digest = hashlib.sha256(raw).hexdigest()
            edits = (edit for item in some if self.applicable(item) for edit in item.fix.edits if edit.location.filename == path)
            if any(edit.digest != digest for edit in edits):
                self.problems.append(Problem(path, f"cannot be mended: {Changed()}"))
                continue
            done = self.mend(path, raw, some)
            if done is not None:
                mended.append(done)
        return mended

    def mend(self, path: str, raw: bytes, given: Sequence[Finding] = ()) -> Mended | None:
        """What comes of fixing one file; None where nothing changes.

        Args:
            path: the file's name, absolute.
            raw: its content.
            given: what is known of this content from other files that were judged: findings, and that fixes are not safe.
        """
        told = len(self.taken_back)
        done, harm = self._looked_around(path, raw, given, ())
        if done is not None and harm is not None:
            why, codes = _brings(harm, path), sorted(done.fixed)
            todo = [item for item in self._together(self._findings(path, raw) or (), given) if self._ours(item, path)]
            for left in (*([code] for code in codes), codes):
                del self.taken_back[told:]
                done, harm = self._looked_around(path, raw, given, left)
                if harm is None:
                    self.taken_back += [TakenBack(item, why) for item in todo if item.code in left]
                    break
        if done is not None:
            self._elsewhere.keep(path, done.after)
        return done

    def _looked_around(
        self, path: str, raw: bytes, given: Sequence[Finding], left: Collection[str]
    ) -> tuple[Mended | None, Finding | None]:
        """What comes of fixing a file, but for the rules in `left`, and a finding that another file has for it."""
        with self._runner.sources.trying(path):
            done = self._mend(path, raw, given, left)
        return done, self._elsewhere.harm(path, raw, done.after) if done is not None else None

    def _mend(self, path: str, raw: bytes, given: Sequence[Finding], left: Collection[str]) -> Mended | None:
        now, fixed = raw, Counter()
        findings = self._findings(path, now)
        if findings is None:
            return None
        todo = self._together(findings, given)
        refused: dict[tuple[str, str], str] = {}
        for _ in range(MOST_ROUNDS):
            wanted = [item for item in todo if self._ours(item, path) and item.code not in left and _name(item, now, path) not in refused]
            chosen = _apart(wanted)
            if not chosen:
                break
            after = self._tried(path, now, chosen, findings)
            if isinstance(after, str) and len(chosen) > 1:
                # One of them does harm: the others are applied one by one.
                chosen = chosen[:1]
                after = self._tried(path, now, chosen, findings)
            if isinstance(after, str):
                refused[_name(chosen[0], now, path)] = after
                continue
            now, findings = after
            todo = findings
            if any(self._ours(item, path) for item in findings):
                todo = self._together(findings, self._elsewhere.told(path, now))
            fixed.update(item.code for item in chosen)
        self.taken_back += [
            TakenBack(item, refused[name]) for item in todo if (name := _name(item, now, path)) in refused
        ]
        return Mended(path, raw, now, fixed) if now != raw else None

    def _together(self, findings: Iterable[Finding], given: Iterable[Finding]) -> list[Finding]:
        """What the project says of a file: the findings of its own verdict and those that other files have in it. A fix is safe
        where it is for all of them."""
        return self._runner.visible([*findings, *given])

    def _ours(self, finding: Finding, path: str) -> bool:
        return self.applicable(finding) and all(edit.location.filename == path for edit in finding.fix.edits)

    def _findings(self, path: str, raw: bytes) -> list[Finding] | None:
        """The findings that the settings let through in a file of this content; None where it cannot be judged whole."""
        try:
            source = parse_source(path, raw)
        except SourceError:
            return None
        digest = hashlib.sha256(raw).hexdigest()
        self._runner.sources.add(source, digest)
        fresh = self._runner.fresh
        verdict = fresh.of(path, raw)
        if verdict is None:
            with no_gc():
                verdict = self._judge.source(source, digest)
            fresh.put(path, verdict)
        if any(problem.internal or not (problem.note or is_notebook(path)) for problem in verdict.problems):
            return None
        return [item for item in self._runner.visible(verdict.findings)]

    def _tried(
        self, path: str, raw: bytes, chosen: Sequence[Finding], before: Sequence[Finding]
    ) -> tuple[bytes, list[Finding]] | str:
        """The content with fixes applied, and its findings; where that is no better, why: it does not parse, has a finding
        that was not there before, or has one still that was to be fixed."""
        edits = [edit for item in chosen for edit in item.fix.edits]
        try:
            if not as_shown(parse_source(path, raw), chosen):
                return "the row has IPython's own syntax"
            after = apply(path, raw, list(dict.fromkeys(edits)))
        except (EditError, SourceError, LookupError, ValueError):
            return "the text is not what the fix was made for"
        findings = self._findings(path, after)
        if findings is None or _broken_cells(path, after) > _broken_cells(path, raw):
            return "the result does not parse, or cannot be judged"
        # In whatever file: a helper that is called otherwise now may have a finding that it had not.
        allowed = Counter(map(_kind, before)) - Counter(_kind(item) for item in chosen if item in before)
        more = Counter(map(_kind, findings)) - allowed
        if more:
            mended = {item.code for item in chosen}
            brought = next((item for item in findings if _kind(item) in more and item.code not in mended), None)
            return "the finding is there still" if brought is None else _brings(brought, path)
        return after, findings


def _kind(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.location.filename


def _brings(finding: Finding, path: str) -> str:
    """Why a fix in the file `path` did not stay."""
    at = finding.location
    cell = "" if at.cell is None else f"cell {at.cell}, "
    other = "" if at.filename == path else f" of {os.path.relpath(at.filename)}"
    return f"it brings {finding.code} in {cell}line {at.row}{other}: {finding.message}"


def _apart(findings: Sequence[Finding]) -> list[Finding]:
    """Findings whose fixes touch different text: of those that overlap, the first."""
    taken: list[tuple] = []
    chosen = []
    for finding in findings:
        fix: Fix = finding.fix
        spans = [(edit.location.cell or 0, *span(edit.location), edit) for edit in fix.edits]
        if any(_overlap(one, other) for one in spans for other in taken):
            continue
        taken += spans
        chosen.append(finding)
    return chosen


def _overlap(one: tuple, other: tuple) -> bool:
    """Whether two edits of a file touch each other. The same edit asked for twice does not."""
    if one[3] == other[3]:
        return one[3].content != ""
    return one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]


def as_shown(source: Source, findings: Sequence[Finding]) -> bool:
    """Whether the rows to be changed stand in the file as they were judged; in a notebook, IPython's syntax does not."""
    if source.rows is None:
        return True
    judged, shown = source.text.split("\n"), source.lines()
    for finding in findings:
        for edit in finding.fix.edits:
            row = source.row_of(edit.location)
            last = row + (edit.location.end_row or edit.location.row) - edit.location.row
            if not row or judged[row - 1 : last] != shown[row - 1 : last]:
                return False
    return True


def _broken_cells(path: str, raw: bytes) -> int:
    return len(parse_source(path, raw).problems) if is_notebook(path) else 0


def _name(finding: Finding, raw: bytes, path: str) -> tuple[str, str]:
    """A finding by its code and place, for as long as the file does not change."""
    at = finding.location
    return finding.code, f"{hash(raw)}:{at.filename}:{at.cell}:{at.row}:{at.column}"


def write(mended: Mended, root: Path) -> None:
    """Write a mended file, so that a reader sees the old content or the new, and whoever could read it still can.

    Args:
        mended: the file.
        root: the project's folder. A link in it is followed only to what is in it, too.

    Raises:
        OSError: it cannot be written; Changed, where somebody else has changed it in the meantime.
    """
    path = os.path.realpath(mended.path)
    if _leads_out(mended.path, path, root):
        raise OSError(f"it is a link to {path}, outside of the project")
    info = os.stat(path)
    mode = stat.S_IMODE(info.st_mode)
    # A new file may be put in the place of one that nobody may write to.
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise OSError("it is read-only")

    def like_the_old_one(temporary: str) -> None:
        os.chmod(temporary, mode)
        if hasattr(os, "chown"):
            _keep_owner(temporary, info)

    replace(path, mended.after, like_the_old_one, mended.before)


def _leads_out(path: str, real: str, root: Path) -> bool:
    """Whether a link, of the file or of a folder on the way to it, leads out of the project. A project that is itself behind a
    link is in it with all its files."""
    inside = Path(real).is_relative_to(os.path.realpath(root))
    return not inside and (os.path.islink(path) or Path(path).is_relative_to(os.path.abspath(root)))


def _keep_owner(path: str, info: os.stat_result) -> None:
    """Gives a file the owner and group of another one, as far as one may; the mode's special bits go with that."""
    try:
        if (info.st_uid, info.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(path, info.st_uid if os.geteuid() == 0 else -1, info.st_gid)
            os.chmod(path, stat.S_IMODE(info.st_mode))
    except OSError:
        pass
