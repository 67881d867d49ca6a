"""What `torchlint [PATHS]` does: settings, rules, run, report, exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click
import msgspec

from torchlint import __version__
from torchlint.catalogue.pages import Catalogue, Rule
from torchlint.cli.problems import for_reports, tell_problems
from torchlint.cli.request import Request
from torchlint.cli.status import FAILED, FINDINGS
from torchlint.files.source import describe
from torchlint.report import Context, clean, write
from torchlint.run.runner import Outcome, Runner
from torchlint.settings.config import Config
from torchlint.settings.lookup import load
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import SelectorError, active, asked_for


def run_check(request: Request) -> int:
    """Judge and report.

    Returns:
        The exit status.

    Raises:
        BaselineError, ConfigError, PageError, SelectorError: a file of known findings, the settings, a rule page or an option
            cannot be used.
        click.UsageError: an output file that cannot be written, or a selection of what is no rule.
    """
    config = load(request.places, Path(request.config_file) if request.config_file else None, request.isolated)
    if request.torch_version is not None:
        config = msgspec.structs.replace(config, torch_version=request.torch_version)
    catalogue = load_rules(config)
    rules = _rules(request, config, catalogue)
    seen = None
    if request.with_report is not None:
        from torchlint.cli import live

        seen = live.read(Path(request.with_report))
    if request.show_settings:
        from torchlint.cli.show import print_settings

        return print_settings(config, rules)
    if request.show_files:
        from torchlint.cli.show import print_files

        return print_files(config, request.wanted, request.force_exclude)
    known = None
    if request.baseline is not None:
        from torchlint.cli.baseline import Baseline

        known = Baseline.read(Path(request.baseline), to_update=request.update_baseline)
    runner = Runner(config, rules, catalogue)
    if request.no_scout:
        runner.order = msgspec.structs.replace(runner.order, scout=False)
    if request.reads_stdin and request.add_noqa:
        raise click.UsageError("--add-noqa changes files: it cannot be used on standard input")
    if request.reads_stdin and (request.fix or request.diff):
        from torchlint.cli.fix import mend_text

        with _output(request.output_file) as out:
            return mend_text(runner, request.stdin_name, request.unsafe_fixes, request.diff, out)
    outcome = _run(request, runner)
    if request.diff:
        return _show_diff(request, runner, outcome)
    if request.fix:
        from torchlint.cli.fix import mend_files

        outcome = mend_files(lambda: _run(request, runner), runner, outcome, request.unsafe_fixes, request.quiet)
    if request.add_noqa:
        outcome = _silence(request, runner, outcome)
    if seen is not None:
        asked = rules if request.select else active(catalogue, ("ALL",), [*config.ignore, *(request.ignore or ())])
        numbers = {rule.code for rule in asked} | ({one.number for one in seen} - set(catalogue.rules))
        merged = live.merge(Path(request.with_report or ""), seen, outcome.findings, runner, numbers.__contains__)
        outcome.findings = merged.findings
        if not request.quiet:
            print(f"torchlint: {clean(f'{request.with_report}: {merged.note}')}", file=sys.stderr)
    if request.unused_noqa:
        outcome.warnings.extend(runner.unused_comments())
    if known is not None and not request.update_baseline:
        outcome.findings = known.new_ones(outcome.findings, runner.judged_line)
    elif known is not None:
        known.update(outcome.findings, runner.judged_line, _answers(runner, outcome, seen is not None))
        count, outcome.findings = len(outcome.findings), []
        if not request.quiet:
            print(f"torchlint: {_findings(count)} written to {request.baseline}", file=sys.stderr)
        request = msgspec.structs.replace(request, quiet=True)  # not "no mistakes found"
    return _tell(request, runner, outcome)


def _rules(request: Request, config: Config, catalogue: Catalogue) -> tuple[Rule, ...]:
    """The rules that settings and options make active.

    Raises:
        click.UsageError: an option selects what is no rule.
    """
    try:
        return asked_for(catalogue, config, request.select, request.ignore, request.extend_select)
    except SelectorError as error:
        raise click.UsageError(_option_of(str(error), request)) from None


def _run(request: Request, runner: Runner) -> Outcome:
    """Judges all that was asked for."""
    cache_dir, use_cache = Path(request.cache_dir) if request.cache_dir else None, not request.no_cache
    if request.reads_stdin:
        raw = sys.stdin.buffer.read()
        return runner.run_text(request.stdin_name, raw, cache_dir=cache_dir, use_cache=use_cache)
    from torchlint.cli.progress import Bar

    with Bar(request.quiet) as bar:
        return runner.run(
            request.wanted, jobs=request.jobs, cache_dir=cache_dir, use_cache=use_cache,
            force_exclude=request.force_exclude, progress=bar,
        )


def _show_diff(request: Request, runner: Runner, outcome: Outcome) -> int:
    from torchlint.cli.fix import show_changes

    with _output(request.output_file) as out:
        changed = show_changes(runner, outcome, request.unsafe_fixes, out)
    tell_problems(outcome.problems, request.quiet)
    return FAILED if outcome.failed else FINDINGS if changed and not request.exit_zero else 0


def _silence(request: Request, runner: Runner, outcome: Outcome) -> Outcome:
    """Writes a comment behind each finding; what is left is what could not be judged, or written to."""
    from torchlint.cli.add_noqa import add_noqa

    count, trouble = add_noqa(outcome.findings, runner.config.root, runner.judged)
    if not request.quiet:
        print(f"torchlint: {_findings(count)} hidden by comments", file=sys.stderr)
    return Outcome([], [*outcome.problems, *trouble], outcome.files)


def _findings(count: int) -> str:
    return f"{count} finding{'' if count == 1 else 's'}"


def _answers(runner: Runner, outcome: Outcome, with_live: bool) -> Callable[[str, str], bool]:
    """Whether a run has said all there is to say of a file (by its full path) and a code. All is said of a file that is gone."""
    whole = runner.judged.difference(os.path.abspath(problem.filename) for problem in outcome.problems)
    codes = {f"TL{rule.code:03d}" for rule in runner.order.rules}

    def is_answered(path: str, code: str) -> bool:
        asked = with_live if code.startswith("TS") else code in codes
        return asked and path in whole or not os.path.exists(path)

    return is_answered


def _option_of(message: str, request: Request) -> str:
    """The message with the option that holds the word it complains of."""
    given = (("--select", request.select), ("--ignore", request.ignore), ("--extend-select", request.extend_select))
    for option, words in given:
        if any(message.startswith(repr(word)) for word in words or ()):
            return f"{option}: {message}"
    return message


def _tell(request: Request, runner: Runner, outcome: Outcome) -> int:
    """Prints what was found, and what went wrong; the exit status."""
    for line in outcome.warnings:
        print(f"torchlint: warning: {clean(line)}", file=sys.stderr)
    tell_problems(outcome.problems, request.quiet)
    if not (outcome.files or outcome.problems or request.quiet):
        print("torchlint: warning: no Python files or notebooks there", file=sys.stderr)
    context = Context(
        version=__version__, lines=runner.line, rules={rule.code: rule for rule in runner.order.rules},
        **for_reports(outcome.problems), files=None if request.quiet else outcome.files,
    )
    with _output(request.output_file) as out:
        if request.statistics:
            from torchlint.report.statistics import write as write_statistics

            write_statistics(outcome.findings, out, context, as_json=request.output_format == "json")
        else:
            write(request.output_format, outcome.findings, out, context)
    if outcome.failed:
        return FAILED
    return FINDINGS if outcome.findings and not request.exit_zero else 0


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be written: {describe(error)}") from None
