"""What `torchlint [PATHS]` does: settings, rules, run, report, exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from torchlint.cli.parts import Part, Parts, cache_of
from torchlint.cli.problems import tell_problems
from torchlint.cli.request import Request
from torchlint.cli.status import FAILED, FINDINGS
from torchlint.cli.telling import Telling, output
from torchlint.files.source import Problem
from torchlint.report import clean, style
from torchlint.run.outcomes import together
from torchlint.run.runner import Outcome
from torchlint.settings.selection import active


def run_check(request: Request) -> int:
    """Judge and report.

    Returns:
        The exit status.

    Raises:
        BaselineError, ConfigError, PageError, SelectorError: a file of known findings, the settings, a rule page or an option
            cannot be used.
        click.UsageError: an output file that cannot be written, or a selection of what is no rule.
    """
    style.asked = {"always": True, "never": False}.get(request.color)
    if request.watch:
        from torchlint.cli.watch import watch

        return watch(request, _check)
    return _check(request)


def _check(request: Request) -> int:
    mark, tell_times = _stopwatch(request)
    parts = Parts(request)
    mark("settings")
    if request.show_settings:
        from torchlint.cli.show import print_settings

        return print_settings(parts.first.config, parts.first.rules)
    if request.show_files:
        from torchlint.cli.show import print_files

        return print_files(parts.find(), parts.problems)
    seen = known = None
    if request.with_report is not None:
        from torchlint.cli import live

        seen = live.read(Path(request.with_report))
    if request.baseline is not None:
        from torchlint.cli.baseline import Baseline

        known = Baseline.read(Path(request.baseline), to_update=request.update_baseline)
    for line in () if request.quiet else parts.not_seen():
        print(f"torchlint: note: {clean(line)}", file=sys.stderr)
    telling = Telling(request, parts)
    if request.reads_stdin:
        if request.add_noqa:
            raise click.UsageError("--add-noqa changes files: it cannot be used on standard input")
        raw = sys.stdin.buffer.read()
        if request.mends or request.diff:
            from torchlint.cli.fix import mend_text

            with output(request.output_file) as out:
                return mend_text(
                    parts.first.runner, raw, request.stdin_name, request.unsafe_fixes, request.diff, out, request.quiet,
                    cache_of(request),
                )
        outcomes = [parts.first.runner.run_text(request.stdin_name, raw, **cache_of(request))]
        telling.stdin = raw
    else:
        parts.find()
        mark("finding files")
        outcomes = [_run(request, part, parts.problems) for part in parts]
    mark("judging")
    if request.diff:
        tell_times(parts)
        return _show_diff(request, parts, outcomes)
    mended = False
    if request.mends:
        mended = _mend(request, parts, outcomes)
    if request.add_noqa:
        outcomes = [_silence(request, part, outcome) for part, outcome in zip(parts, outcomes)]
    outcome = together(outcomes)
    if seen is not None:
        first = parts.first
        asked = parts.rules if request.select else {
            rule.code: rule for rule in active(first.catalogue, ("ALL",), [*first.config.ignore, *(request.ignore or ())])
        }
        numbers = set(asked) | ({one.number for one in seen} - set(first.catalogue.rules))
        merged = live.merge(Path(request.with_report or ""), seen, outcome.findings, parts, numbers.__contains__)
        outcome.findings = merged.findings
        _say(request, f"{request.with_report}: {merged.note}")
    comments = [
        finding for part in parts if request.unused_noqa or part.config.unused_noqa
        for finding in part.runner.unused_comments()
    ]
    outcome.findings = sorted([*outcome.findings, *comments], key=lambda finding: finding.sort_key)
    if known is not None:
        answers = parts.answers(outcome, seen is not None)
        if request.update_baseline:
            known.update(outcome.findings, parts.judged_line, answers)
            _say(request, f"{_findings(len(outcome.findings))} written to {request.baseline}")
            outcome.findings = []
            request = msgspec.structs.replace(request, quiet=True)  # not "no mistakes found"
        else:
            outcome.findings, told = known.new_ones(outcome.findings, parts.judged_line, answers)
            _say(request, told)
    if request.fix_only:
        outcome.findings = []
        request = msgspec.structs.replace(request, quiet=True)
    if request.mends or request.add_noqa:
        mark("changing files")
    status = telling.tell(request, outcome)
    mark("telling")
    tell_times(parts)
    return FINDINGS if mended and request.exit_non_zero_on_fix and status == 0 else status


def _stopwatch(request: Request) -> tuple[Callable[[str], None], Callable[[Parts], None]]:
    """What notes that a stage is over, and what tells of them all."""
    if not request.verbose:
        return lambda stage: None, lambda parts: None
    from torchlint.cli.verbose import Stopwatch

    stopwatch = Stopwatch()
    return stopwatch.mark, stopwatch.tell


def _run(request: Request, part: Part, problems: list[Problem]) -> Outcome:
    """Judges the files of a part."""
    from torchlint.cli.progress import Bar

    with Bar(request.quiet) as bar:
        return part.runner.run_files(part.files, problems, jobs=request.jobs, progress=bar, **cache_of(request))


def _mend(request: Request, parts: Parts, outcomes: list[Outcome]) -> bool:
    """Mends the files of all parts, puts what is left in the place of the outcomes; whether anything was mended."""
    from torchlint.cli.fix import Mending, mend_files

    all_mended = Mending({}, [])
    for number, part in enumerate(parts):
        noqa = request.unused_noqa or part.config.unused_noqa
        outcomes[number], mending = mend_files(
            lambda part=part: _run(request, part, parts.problems), part.runner, outcomes[number], request.unsafe_fixes, noqa
        )
        all_mended.join(mending)
    if not request.quiet:
        all_mended.tell("mended", parts.name_of, request.show_fixes)
    return bool(all_mended.fixed)


def _show_diff(request: Request, parts: Parts, outcomes: list[Outcome]) -> int:
    from torchlint.cli.fix import Mending, show_changes

    all_changes = Mending({}, [])
    with output(request.output_file) as out:
        for part, outcome in zip(parts, outcomes):
            noqa = request.unused_noqa or part.config.unused_noqa
            all_changes.join(show_changes(part.runner, outcome, request.unsafe_fixes, noqa, out))
        out.flush()
    outcome = together(outcomes)
    tell_problems(outcome.problems, request.quiet)
    if not request.quiet:
        all_changes.tell("would mend", parts.name_of)
    return FAILED if outcome.failed else FINDINGS if all_changes.fixed and not request.exit_zero else 0


def _silence(request: Request, part: Part, outcome: Outcome) -> Outcome:
    """Writes a comment behind each finding; what is left is what could not be judged, or written to."""
    from torchlint.cli.add_noqa import add_noqa

    count, trouble = add_noqa(outcome.findings, part.config.root, part.runner.judged)
    _say(request, f"{_findings(count)} hidden by comments")
    return Outcome([], [*outcome.problems, *trouble], outcome.files)


def _say(request: Request, line: str) -> None:
    if not request.quiet:
        print(f"torchlint: {clean(line)}", file=sys.stderr)


def _findings(count: int) -> str:
    return f"{count} finding{'' if count == 1 else 's'}"
