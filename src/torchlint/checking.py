"""What `torchlint [PATHS]` does: settings, rules, run, report, exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click
import msgspec

from torchlint import __version__
from torchlint.cli import FAILED, FINDINGS
from torchlint.config import Config, load
from torchlint.report import Context, clean, write
from torchlint.rulebook import load_rules
from torchlint.runner import Outcome, Runner
from torchlint.selection import SelectorError, active
from torchlint.source import Problem

STDIN = "-"


def run_check(
    paths: Sequence[str],
    *,
    select: Sequence[str] | None,
    extend_select: Sequence[str] | None,
    ignore: Sequence[str] | None,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    add_noqa: bool,
    baseline: str | None,
    update_baseline: bool,
    with_report: str | None,
    unused_noqa: bool,
    show_settings: bool,
    show_files: bool,
    torch_version: tuple[int, int] | None,
    output_format: str,
    output_file: str | None,
    statistics: bool,
    quiet: bool,
    exit_zero: bool,
    jobs: int | None,
    no_cache: bool,
    cache_dir: str | None,
    stdin_filename: str | None,
    force_exclude: bool,
    config_file: str | None,
    isolated: bool,
) -> int:
    """Judge and report; the arguments are the command's options.

    Returns:
        The exit status.

    Raises:
        BaselineError, ConfigError, PageError, SelectorError: a file of known findings, the settings, a rule page or an option
            cannot be used.
        click.UsageError: options that contradict each other, or an output file that cannot be written.
    """
    if STDIN in paths and len(paths) > 1:
        raise click.UsageError("- (standard input) cannot be given together with other paths")
    if stdin_filename and STDIN not in paths:
        raise click.UsageError("--stdin-filename is of use only where standard input is read: give - as the path")
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes is of use only together with --fix or --diff")
    if with_report is not None and (STDIN in paths or diff):
        raise click.UsageError("--with cannot be used on standard input or together with --diff")
    if update_baseline and baseline is None:
        raise click.UsageError("--update-baseline is of use only together with --baseline FILE")
    if update_baseline and (STDIN in paths or diff):
        raise click.UsageError("--update-baseline cannot be used on standard input or together with --diff")
    wanted = paths or (".",)
    places = [Path(stdin_filename or ".")] if STDIN in paths else [Path(path) for path in wanted]
    config = load(places, Path(config_file) if config_file else None, isolated)
    if torch_version is not None:
        config = msgspec.structs.replace(config, torch_version=torch_version)
    catalogue = load_rules(config)
    rules = active(catalogue, config.select, config.ignore, config.extend_select)
    try:
        rules = active(catalogue, select, ignore or (), extend_select or (), start=None if select else rules)
    except SelectorError as error:
        raise click.UsageError(_option_of(str(error), select, ignore, extend_select)) from None
    seen = None
    if with_report is not None:
        from torchlint import live

        seen = live.read(Path(with_report))
    if show_settings or show_files:
        from torchlint.showing import print_files, print_settings

        return print_settings(config, rules) if show_settings else print_files(config, wanted, force_exclude)
    known = None
    if baseline is not None:
        from torchlint.baseline import Baseline

        known = Baseline.read(Path(baseline), to_update=update_baseline)
    if STDIN in paths:
        if add_noqa:
            raise click.UsageError("--add-noqa changes files: it cannot be used on standard input")
        if fix or diff:
            from torchlint.mending import mend_text

            with _output(output_file) as out:
                return mend_text(Runner(config, rules, catalogue), stdin_filename or STDIN, unsafe_fixes, diff, out)
        runner = Runner(config, rules, catalogue)
        outcome = runner.run_text(stdin_filename or STDIN, sys.stdin.buffer.read())
    else:
        from torchlint.progress import Bar

        runner = Runner(config, rules, catalogue)

        def run() -> Outcome:
            with Bar(quiet) as bar:
                return runner.run(
                    wanted, jobs=jobs, cache_dir=Path(cache_dir) if cache_dir else None, use_cache=not no_cache,
                    force_exclude=force_exclude, progress=bar,
                )

        outcome = run()
        if diff:
            from torchlint.mending import show_changes

            with _output(output_file) as out:
                changed = show_changes(runner, outcome, unsafe_fixes, out)
            for problem in outcome.problems:
                print(f"torchlint: {problem_line(problem)}", file=sys.stderr)
            return FAILED if outcome.problems else FINDINGS if changed and not exit_zero else 0
        if fix:
            from torchlint.mending import mend_files

            outcome = mend_files(run, runner, outcome, unsafe_fixes, quiet)
        if add_noqa:
            from torchlint.silence import add_noqa as write_comments

            count, trouble = write_comments(outcome.findings, config.root, runner.judged)
            if not quiet:
                print(f"torchlint: {count} finding{'' if count == 1 else 's'} hidden by comments", file=sys.stderr)
            outcome = Outcome([], [*outcome.problems, *trouble], outcome.files)
    if seen is not None:
        asked = rules if select else active(catalogue, ("ALL",), [*config.ignore, *(ignore or ())])
        numbers = {rule.code for rule in asked} | ({one.number for one in seen} - set(catalogue.rules))
        merged = live.merge(Path(with_report or ""), seen, outcome.findings, runner, numbers.__contains__)
        outcome.findings = merged.findings
        if not quiet:
            print(f"torchlint: {clean(f'{with_report}: {merged.note}')}", file=sys.stderr)
    if unused_noqa:
        outcome.warnings.extend(runner.unused_comments())
    if known is not None and update_baseline:
        known.update(outcome.findings, runner.judged_line, _answers(runner, outcome, seen is not None))
        count, outcome.findings = len(outcome.findings), []
        if not quiet:
            print(f"torchlint: {count} finding{'' if count == 1 else 's'} written to {baseline}", file=sys.stderr)
        quiet = True  # not "no mistakes found"
    elif known is not None:
        outcome.findings = known.new_ones(outcome.findings, runner.judged_line)
    return _tell(outcome, runner, config, output_format, output_file, statistics, quiet, exit_zero)


def _answers(runner: Runner, outcome: Outcome, with_live: bool) -> Callable[[str, str], bool]:
    """Whether a run has said all there is to say of a file (by its full path) and a code. All is said of a file that is gone."""
    whole = runner.judged.difference(os.path.abspath(problem.filename) for problem in outcome.problems)
    codes = {f"TL{rule.code:03d}" for rule in runner.order.rules}

    def is_answered(path: str, code: str) -> bool:
        asked = with_live if code.startswith("TS") else code in codes
        return asked and path in whole or not os.path.exists(path)

    return is_answered


def _option_of(message: str, select: Sequence[str] | None, ignore: Sequence[str] | None,
               extend: Sequence[str] | None) -> str:
    """The message with the option that holds the word it complains of."""
    for option, words in (("--select", select), ("--ignore", ignore), ("--extend-select", extend)):
        if any(message.startswith(repr(word)) for word in words or ()):
            return f"{option}: {message}"
    return message


def _tell(outcome: Outcome, runner: Runner, config: Config, output_format: str, output_file: str | None,
          statistics: bool, quiet: bool, exit_zero: bool) -> int:
    for line in outcome.warnings:
        print(f"torchlint: warning: {clean(line)}", file=sys.stderr)
    problems = [problem_line(problem) for problem in outcome.problems]
    for line in problems:
        print(f"torchlint: {line}", file=sys.stderr)
    if not (outcome.files or outcome.problems or quiet):
        print("torchlint: warning: no Python files or notebooks there", file=sys.stderr)
    context = Context(
        version=__version__, lines=runner.line, rules={rule.code: rule for rule in runner.order.rules},
        problems=problems, files=None if quiet else outcome.files,
    )
    with _output(output_file) as out:
        if statistics:
            from torchlint.report.statistics import write as write_statistics

            write_statistics(outcome.findings, out, context, as_json=output_format == "json")
        else:
            write(output_format, outcome.findings, out, context)
    if outcome.problems:
        return FAILED
    return FINDINGS if outcome.findings and not exit_zero else 0


def problem_line(problem: Problem) -> str:
    """A problem as the one line that is said about it."""
    where = problem.filename
    if problem.cell is not None:
        where += f":cell {problem.cell}"
    if problem.row is not None:
        where += f":{problem.row}"
    return clean(f"{where}: {problem.message}")


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None
