"""What `--fix` and `--diff` do: findings in, changed files or diffs out."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TextIO

import msgspec

from torchlint.cli.problems import tell_problems
from torchlint.cli.show import print_diff
from torchlint.cli.status import FAILED, FINDINGS
from torchlint.files.source import Problem, describe, map_locations
from torchlint.findings import Finding, Location
from torchlint.fixes.diff import diff
from torchlint.fixes.fixer import Fixer, Mended, write
from torchlint.run.runner import Outcome, Runner

# Mending one file can let a finding appear in another one.
MOST_RUNS = 5


def mend_files(
    run: Callable[[], Outcome], runner: Runner, outcome: Outcome, unsafe: bool, quiet: bool
) -> Outcome:
    """Writes what can be mended, and gives what is left. `run` lets the runner judge everything again."""
    fixed, files = Counter(), set()
    trouble: dict[str, Problem] = {}
    for _ in range(MOST_RUNS):
        fixer = Fixer(runner, unsafe)
        written = 0
        # What somebody else is at is not tried again.
        all_mended = fixer.mend_all(absolute(outcome.findings), leave=trouble)
        trouble.update((problem.filename, problem) for problem in fixer.problems)
        for mended in all_mended:
            try:
                write(mended, runner.config.root)
            except OSError as error:
                trouble[mended.path] = Problem(mended.path, f"cannot be mended: {describe(error)}")
                continue
            written += 1
            files.add(mended.path)
            fixed.update(mended.fixed)
        if not written:
            break
        outcome = run()
    if fixed and not quiet:
        what = ", ".join(f"{code} {count}" for code, count in sorted(fixed.items()))
        count, many = sum(fixed.values()), len(files)
        print(f"torchlint: mended {count} finding{'s' * (count > 1)} in {many} file{'s' * (many > 1)} ({what})", file=sys.stderr)
    outcome.problems += _shown(trouble.values())
    return outcome


def show_changes(runner: Runner, outcome: Outcome, unsafe: bool, out: TextIO) -> bool:
    """Prints what mending would change; whether there is anything. Files of which that cannot be said become problems."""
    fixer = Fixer(runner, unsafe)
    mended = fixer.mend_all(absolute(outcome.findings))
    outcome.problems += _shown(fixer.problems)
    for one in mended:
        print_diff(diff(one, os.path.relpath(one.path)), out)
    return bool(mended)


def _shown(problems: Iterable[Problem]) -> list[Problem]:
    """Problems with the names of files as people see them."""
    return [msgspec.structs.replace(one, filename=os.path.relpath(one.filename)) for one in problems]


def mend_text(runner: Runner, filename: str, unsafe: bool, as_diff: bool, out: TextIO) -> int:
    """Mends standard input: prints the mended text, or the diff, and on standard error what is left.

    Returns:
        The exit status.
    """
    raw = sys.stdin.buffer.read()
    path = os.path.abspath(filename)
    mended = Fixer(runner, unsafe).mend(path, raw) or Mended(path, raw, raw, Counter())
    if as_diff:
        print_diff(diff(mended, filename), out)
        return FINDINGS if mended.after != raw else 0
    out.flush()
    if hasattr(out, "buffer"):
        out.buffer.write(mended.after)
    else:
        out.write(mended.after.decode())
    outcome = runner.run_text(filename, mended.after)
    from torchlint.report import Context
    from torchlint.report import write as tell

    tell("concise", outcome.findings, sys.stderr, Context())
    tell_problems(outcome.problems)
    return FAILED if outcome.failed else FINDINGS if outcome.findings else 0


def absolute(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of an outcome with full paths."""

    def place(at: Location) -> Location:
        return msgspec.structs.replace(at, filename=os.path.abspath(at.filename))

    return [map_locations(finding, place) for finding in findings]
