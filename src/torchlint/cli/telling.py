"""How a run is told: its format, what reports ask for, where they are printed, and the exit status."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import click

from torchlint import __version__
from torchlint.cli.agents import agent_runs
from torchlint.cli.parts import Parts
from torchlint.cli.problems import for_reports, tell_problems
from torchlint.cli.request import Request
from torchlint.cli.status import FAILED, FINDINGS
from torchlint.files.reading import read_bytes
from torchlint.files.source import describe
from torchlint.findings import Finding, Severity
from torchlint.report import FOR_PEOPLE, Context, clean, write
from torchlint.report import path as shown_path
from torchlint.run.runner import Outcome

_LEVELS = tuple(Severity)  # the worst first


class Telling:
    """Tells of a run. `stdin` is what standard input held, where it was judged."""

    def __init__(self, request: Request, parts: Parts):
        self.stdin: bytes | None = None
        self._parts = parts
        chosen = request.output_format or parts.first.config.output_format
        self._format = chosen or ("agent" if agent_runs() and request.output_file is None else "full")
        self._fail_on = request.fail_on and Severity(request.fail_on)

    def tell(self, request: Request, outcome: Outcome) -> int:
        """Prints what was found, and what went wrong; the exit status."""
        for line in outcome.warnings:
            print(f"torchlint: warning: {clean(line)}", file=sys.stderr)
        tell_problems(outcome.problems, request.quiet)
        if outcome.elsewhere and not request.quiet:
            print(f"torchlint: note: {clean(_elsewhere(outcome.elsewhere))}", file=sys.stderr)
        if not (outcome.files or outcome.problems or request.quiet):
            print("torchlint: warning: no Python files or notebooks there", file=sys.stderr)
        context = Context(
            version=__version__, lines=self._parts.line, diff=self._diff, rules=self._parts.rules,
            **for_reports(outcome.problems), files=None if request.quiet else outcome.files,
            aside=request.output_file is None and self._format in FOR_PEOPLE, unsafe=request.unsafe_fixes,
        )
        with output(request.output_file) as out:
            if request.statistics:
                from torchlint.report.statistics import write as write_statistics

                write_statistics(outcome.findings, out, context, as_json=self._format == "json")
            else:
                write(self._format, outcome.findings, out, context)
        if outcome.failed:
            return FAILED
        return FINDINGS if self._fails(outcome.findings) and not request.exit_zero else 0

    def _fails(self, findings: Sequence[Finding]) -> bool:
        """Whether one of the findings is of a level that counts: where the option does not say, by the settings of its file."""
        return any(
            _LEVELS.index(finding.severity)
            <= _LEVELS.index(self._fail_on or self._parts.config_of(finding.location.filename).fail_on)
            for finding in findings
        )

    def _diff(self, finding: Finding) -> str | None:
        """What the fix of a finding would change, without the lines around it; None where the file is not what was judged."""
        import hashlib

        from torchlint.cli.fix import absolute
        from torchlint.files.source import SourceError
        from torchlint.fixes.diff import diff
        from torchlint.fixes.edits import EditError, apply
        from torchlint.fixes.fixer import Mended

        (finding,) = absolute([finding])
        shown = []
        edits = finding.fix.edits if finding.fix is not None else ()
        for path in dict.fromkeys(edit.location.filename for edit in edits):
            try:
                raw = read_bytes(path) if self.stdin is None else self.stdin
                some = [edit for edit in edits if edit.location.filename == path]
                if any(edit.digest not in ("", hashlib.sha256(raw).hexdigest()) for edit in some):
                    return None
                text = diff(Mended(path, raw, apply(path, raw, some), Counter()), os.path.relpath(path), 0)
            except (OSError, EditError, SourceError, LookupError, ValueError):
                return None
            shown.append(text)
        return "".join(shown)


def _elsewhere(findings: Sequence[Finding]) -> str:
    """What is said of findings in files that were not asked for."""
    names = sorted({finding.location.filename for finding in findings})
    count, some = len(findings), ", ".join(map(shown_path, names[:3]))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    if count == 1:
        return f"1 finding stands in {some}, which was not asked for"
    return f"{count} findings stand in {some}{more}, which {'was' if len(names) == 1 else 'were'} not asked for"


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that was asked for.

    Raises:
        click.UsageError: it cannot be written.
    """
    if path is None:
        yield sys.stdout
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be written: {describe(error)}") from None
