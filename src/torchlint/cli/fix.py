"""What `--fix` and `--diff` do: findings in, changed files or diffs out."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import msgspec

from torchlint.cli.problems import tell_problems
from torchlint.cli.show import print_diff
from torchlint.cli.status import FAILED, FINDINGS
from torchlint.files.reading import read_bytes
from torchlint.files.source import Problem, SourceError, describe, map_locations
from torchlint.files.writing import Changed
from torchlint.findings import Finding, Location
from torchlint.fixes.diff import diff
from torchlint.fixes.edits import EditError, apply
from torchlint.fixes.fixer import Fixer, Mended, TakenBack, write
from torchlint.report import clean
from torchlint.report import path as shown_path
from torchlint.run.runner import Outcome, Runner

# Mending one file can let a finding appear in another one.
MOST_RUNS = 5


class Mending(msgspec.Struct):
    """What came of mending files: how often each code was mended, by file, and the fixes that did not stay."""

    fixed: dict[str, Counter[str]] = {}
    taken_back: list[TakenBack] = []
    left: int = 0  # that only --unsafe-fixes would mend

    def add(self, mended: Mended) -> None:
        self.fixed.setdefault(os.path.relpath(mended.path), Counter()).update(mended.fixed)

    def join(self, other: Mending) -> None:
        self.fixed |= other.fixed
        self.taken_back += other.taken_back
        self.left += other.left

    def tell(self, done: str, names: Callable[[str], str], each: bool = False) -> None:
        """Prints on standard error what was mended; with `each`, file by file."""
        if self.fixed:
            all_codes = sum(self.fixed.values(), Counter())
            what = ", ".join(f"{code} {count}" for code, count in sorted(all_codes.items()))
            count, many = all_codes.total(), len(self.fixed)
            more = f"; {self.left} more with --unsafe-fixes" if self.left else ""
            print(
                f"torchlint: {done} {count} finding{'s' * (count != 1)} in {many} file{'s' * (many > 1)} ({what}){more}",
                file=sys.stderr,
            )
        elif self.left:
            print(f"torchlint: {done} nothing; {self.left} with --unsafe-fixes", file=sys.stderr)
        for name, codes in sorted(self.fixed.items()) if each else ():
            print(f"{shown_path(name)}:", file=sys.stderr)
            for code, count in sorted(codes.items()):
                print(f"  {count} x {code} {names(code)}".rstrip(), file=sys.stderr)
        for one in self.taken_back:
            at = one.finding.location
            cell = "" if at.cell is None else f"cell {at.cell}:"
            where = clean(f"{os.path.relpath(at.filename)}:{cell}{at.row}")
            print(f"torchlint: note: {where}: the fix of {one.finding.code} was taken back: {clean(one.why)}", file=sys.stderr)


def mend_files(run: Callable[[], Outcome], runner: Runner, outcome: Outcome, unsafe: bool, noqa: bool) -> tuple[Outcome, Mending]:
    """Writes what can be mended, and gives what is left. `run` lets the runner judge everything again; `noqa` has comments that
    hide nothing taken out, too."""
    mending = Mending({}, [])
    trouble: dict[str, Problem] = {}
    for number in range(MOST_RUNS + 1):
        fixer = Fixer(runner, unsafe)
        # What somebody else is at is not tried again.
        todo = fixer.mend_all(absolute(outcome.findings), leave=trouble) if number < MOST_RUNS else []
        trouble.update((problem.filename, problem) for problem in fixer.problems)
        if not todo and noqa and not (outcome.failed or trouble):
            todo, noqa = _without_comments(runner, trouble), False
        written = 0
        for mended in todo:
            try:
                write(mended, runner.config.root)
            except OSError as error:
                trouble[mended.path] = Problem(mended.path, f"cannot be mended: {describe(error)}")
                continue
            written += 1
            mending.add(mended)
        mending.taken_back = fixer.taken_back
        if not written:
            break
        outcome = run()
    outcome.findings = _as_left(outcome.findings, mending.taken_back)
    mending.left = _left(outcome, unsafe)
    outcome.problems += _shown(trouble.values())
    return outcome, mending


def _as_left(findings: Sequence[Finding], taken_back: Iterable[TakenBack]) -> list[Finding]:
    """What is left, without the fixes that did not stay: nobody must be told to try them again."""
    refused = {(one.finding.code, one.finding.location) for one in taken_back}
    return [
        msgspec.structs.replace(finding, fix=None) if (finding.code, whole.location) in refused else finding
        for finding, whole in zip(findings, absolute(findings))
    ]


def _left(outcome: Outcome, unsafe: bool) -> int:
    return 0 if unsafe else sum(one.fix is not None and one.fix.applicability != "safe" for one in outcome.findings)


def _without_comments(runner: Runner, trouble: dict[str, Problem]) -> list[Mended]:
    """The files that have comments which hide nothing, without them."""
    by_file: dict[str, list[Finding]] = {}
    for finding in absolute(runner.unused_comments()):
        by_file.setdefault(finding.location.filename, []).append(finding)
    done = []
    for path, findings in by_file.items():
        try:
            raw = read_bytes(path)
            if any(finding.digest != hashlib.sha256(raw).hexdigest() for finding in findings):
                raise Changed
            after = apply(path, raw, [edit for finding in findings for edit in finding.fix.edits])
            done.append(Mended(path, raw, after, Counter(finding.code for finding in findings)))
        except (OSError, SourceError, EditError) as error:
            why = describe(error) if isinstance(error, OSError) else str(error)
            trouble[path] = Problem(path, f"cannot be mended: {why}")
    return done


def _without_its_comments(runner: Runner, mended: Mended) -> Mended:
    """A file that is mended and not written yet, without the comments that hide nothing in it then."""
    findings = runner.unused_comments_in(mended.path, mended.after)
    if not findings:
        return mended
    after = apply(mended.path, mended.after, [edit for finding in findings for edit in finding.fix.edits])
    fixed = mended.fixed + Counter(finding.code for finding in findings)
    return Mended(mended.path, mended.before, after, fixed)


def show_changes(runner: Runner, outcome: Outcome, unsafe: bool, noqa: bool, out: TextIO) -> Mending:
    """Prints what mending would change. Files of which that cannot be said become problems."""
    fixer, mending = Fixer(runner, unsafe), Mending({}, [])
    todo = fixer.mend_all(absolute(outcome.findings))
    outcome.problems += _shown(fixer.problems)
    if noqa and not outcome.failed:
        trouble: dict[str, Problem] = {}
        mended_already = {mended.path for mended in todo}
        todo = [_without_its_comments(runner, mended) for mended in todo]
        todo += [mended for mended in _without_comments(runner, trouble) if mended.path not in mended_already]
        outcome.problems += _shown(trouble.values())
    for mended in sorted(todo, key=lambda mended: mended.path):
        print_diff(diff(mended, os.path.relpath(mended.path)), out)
        mending.add(mended)
    mending.taken_back, mending.left = fixer.taken_back, _left(outcome, unsafe)
    return mending


def _shown(problems: Iterable[Problem]) -> list[Problem]:
    """Problems with the names of files as people see them."""
    return [msgspec.structs.replace(one, filename=os.path.relpath(one.filename)) for one in problems]


def mend_text(
    runner: Runner, raw: bytes, filename: str, unsafe: bool, as_diff: bool, out: TextIO, quiet: bool, cache: dict[str, Any]
) -> int:
    """Mends standard input: prints the mended text, or the diff, and on standard error what is left.

    Returns:
        The exit status.
    """
    path = os.path.abspath(filename)
    fixer = Fixer(runner, unsafe)
    given = absolute(runner.run_text(filename, raw, **cache).findings)
    mended = fixer.mend(path, raw, given) or Mended(path, raw, raw, Counter())
    if not quiet:
        Mending({filename: mended.fixed} if mended.fixed else {}, fixer.taken_back).tell("would mend" if as_diff else "mended", str)
    if as_diff:
        print_diff(diff(mended, filename), out)
        return FINDINGS if mended.after != raw else 0
    out.flush()
    if hasattr(out, "buffer"):
        out.buffer.write(mended.after)
    else:
        out.write(mended.after.decode())
    outcome = runner.run_text(filename, mended.after, **cache)
    from torchlint.report import Context
    from torchlint.report import write as tell

    tell("concise", _as_left(outcome.findings, fixer.taken_back), sys.stderr, Context())
    tell_problems(outcome.problems)
    return FAILED if outcome.failed else FINDINGS if outcome.findings else 0


def absolute(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of an outcome with full paths."""

    def place(at: Location) -> Location:
        return msgspec.structs.replace(at, filename=os.path.abspath(at.filename))

    return [map_locations(finding, place) for finding in findings]
