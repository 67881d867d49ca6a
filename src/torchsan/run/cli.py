"""The command line: `torchsan run [options] script.py args...`, and `torchsan explain`, `rules`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click

from torchlint import __version__

FOUND, FAILED, INTERRUPTED = 1, 2, 130
_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process where None).

    Returns:
        The exit status: the program's own, 1 for findings with --fail, 2 where nothing could be run. What ends the
        program in another way (SystemExit, an error) is raised. The report comes when the process ends, after the exit
        callbacks of the program; with --fail they are called, and threads waited for, before this returns.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        if not args:
            raise click.UsageError("no command: torchsan run SCRIPT, torchsan explain RULE or torchsan rules (--help tells more)")
        started = cli.main(args, prog_name="torchsan", standalone_mode=False)
    except click.ClickException as error:
        print(f"torchsan: error: {error.format_message()}", file=sys.stderr)
        return FAILED
    except click.exceptions.Abort:
        return INTERRUPTED
    # The program runs here, out of click's reach, which has its own ideas about what interrupts and exits mean.
    return started() if callable(started) else started or 0


class _Commands(click.Group):
    """Says what was meant where a script stands in the place of the command."""

    def resolve_command(self, context: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        if args and args[0] not in self.commands:
            hint = ""
            if args[0].endswith(".py") or os.path.exists(args[0]):
                hint = f"; did you mean `torchsan run {args[0]}`?"
            raise click.UsageError(f"no command {args[0]!r}{hint}")
        return super().resolve_command(context, args)


@click.group(cls=_Commands, context_settings=_HELP)
@click.version_option(__version__, message="torchsan %(version)s")
def cli() -> None:
    """Find the mistakes that ruin PyTorch training in the live run, without changing it.

    In code: with torchsan.watch(model): ...   In tests: pytest --torchsan
    """


def _words(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...] | None:
    """Comma-separated lists, given once or several times, as one; None where the option was not given."""
    words = tuple(word.strip() for part in value for word in part.split(",") if word.strip())
    for word in words:
        reason = _unknown(word)
        if reason:
            raise click.BadParameter(reason, context, parameter)
    return words or None


def _unknown(word: str) -> str | None:
    """Why a word means no check; None where it may mean some."""
    from torchlint.catalogue.pages import GROUPS
    from torchsan.report.wording import rules

    if re.fullmatch(r"TS|TL|ALL", word, re.IGNORECASE):
        return None
    code = re.fullmatch(r"(?:TS|TL)?(\d{1,3})", word, re.IGNORECASE)
    if code and (any(f"{rule.code:03d}".startswith(code[1]) for rule in rules()) or _has_own_rules()):
        return None
    known = [*GROUPS, "ALL", *(rule.name for rule in rules())]
    if word in known:
        return None
    near = get_close_matches(word.lower(), known, 1)
    return f"{word!r} is no code, prefix, name or group" + (f" (did you mean {near[0]!r}?)" if near else "")


def _has_own_rules() -> bool:
    """Whether there are rules whose numbers are known to their pages alone."""
    from torchsan.options import OptionError, gather

    try:
        return bool(gather({}).extend_rules)
    except OptionError:
        return True  # it is told when the watch begins


def _not_seen(words: Sequence[str]) -> list[str]:
    """A line for each rule that was selected by its code or name, and that no run can show."""
    from torchlint.report.pages import not_seen
    from torchsan.report.wording import rules

    named = (rules().find(word) for word in words)
    return [line for rule in named if rule is not None and (line := not_seen(rule, "TS"))]


def _report(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from torchsan.report.reports import REPORTS

    if value is None:
        return None
    ending = os.path.splitext(value)[1].lower()
    if ending not in REPORTS:
        raise click.BadParameter(f"{value!r} must end in {', '.join(REPORTS)}", context, parameter)
    folder = os.path.dirname(os.path.abspath(value))
    if not os.path.isdir(folder) or os.path.isdir(value):
        raise click.BadParameter(f"{value!r} cannot be written there", context, parameter)
    return value


@cli.command(
    context_settings={**_HELP, "allow_interspersed_args": False},
    epilog="RULES are codes (TS101), prefixes (TS1), groups (correctness, suspicious, performance, opt-in), names or "
    "ALL, with commas between them. Other settings: TORCHSAN_OPTIONS, and [tool.torchsan] in pyproject.toml. On "
    "several processes: torchrun --nproc-per-node 2 -m torchsan run train.py",
)
@click.option("-m", "as_module", is_flag=True, help="SCRIPT is the name of a module, as with python -m.")
@click.option("--select", multiple=True, callback=_words, metavar="RULES", help="Look for these mistakes alone.")
@click.option("--extend-select", multiple=True, callback=_words, metavar="RULES", help="Look for these, too.")
@click.option("--ignore", multiple=True, callback=_words, metavar="RULES", help="Leave these out.")
@click.option("--level", type=click.Choice(["default", "thorough", "memory"]), default=None,
              help="thorough takes more time; memory may change numbers and speed.  [default: default]")
@click.option("--report", callback=_report, metavar="FILE",
              help="Write all findings to this file too, by its ending: .html (with the course of the run), .json, "
              ".sarif or .xml (JUnit).")
@click.option("--steps", type=click.IntRange(1), metavar="N",
              help="End the program after N steps of an optimizer, as sys.exit() there would: for a look at a long run.")
@click.option("--live", is_flag=True,
              help="Show curves, time, memory and findings at the bottom of the terminal while it trains.")
@click.option("--fail", "--exit-code", "fail", is_flag=True,
              help="Exit with 1 where there are findings and the program itself ended well.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings, and no summary.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    as_module: bool, select: tuple[str, ...] | None, extend_select: tuple[str, ...] | None, ignore: tuple[str, ...] | None,
    level: str | None, report: str | None, steps: int | None, live: bool, fail: bool, quiet: bool, script: str, args: tuple[str, ...],
) -> Any:
    """Run SCRIPT with ARGS as python would, and tell what is wrong with its training on standard error.

    Models, optimizers, losses and loaders are found by themselves. The exit status is the script's own.
    """
    from torchsan.options import OptionError, gather
    from torchsan.run import launch
    from torchsan.run.session import Session

    try:
        options = gather({"select": select, "extend_select": extend_select, "ignore": ignore, "level": level})
    except OptionError as error:
        raise click.UsageError(str(error)) from None
    for line in () if quiet else _not_seen((*(select or ()), *(extend_select or ()))):
        print(f"torchsan: note: {line}", file=sys.stderr)
    session = Session(options, report, quiet, steps, live)
    try:
        program = (launch.module if as_module else launch.script)(script, args)
    except launch.CannotRun as error:
        raise click.UsageError(str(error)) from None

    def started() -> int:
        session.begin()
        try:
            program()
        except BaseException as error:
            ended: BaseException | None = error
        else:
            ended = None
        session.main_ended(ended)
        well = ended is None or (isinstance(ended, SystemExit) and ended.code in (None, 0))
        try:
            if ended is not None and not (well and fail):
                launch.pass_on(ended)
        finally:
            ended = None  # as in `pass_on`
        if not fail:
            return 0
        launch.shut_down()
        return FOUND if session.findings and session.is_ours else 0

    return started


@cli.command(context_settings=_HELP)
@click.argument("rule")
def explain(rule: str) -> None:
    """Tell what a rule is about, why it matters, and how to mend what it finds.

    RULE is its number (101), its code (TS101) or its name (missing-zero-grad).
    """
    from torchlint.catalogue.pages import catalogue
    from torchlint.report.pages import write_page

    known = catalogue()
    found = known.find(rule)
    if found is None:
        near = get_close_matches(rule.lower(), [one.name for one in known], 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise click.UsageError(f"there is no rule {rule!r}{hint}; torchsan rules lists them all")
    write_page(found, "TS", sys.stdout)


@cli.command("rules", context_settings=_HELP)
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="How to print them.")
def list_rules(output_format: str) -> None:
    """List the rules that a run can show."""
    from torchlint.catalogue.pages import catalogue
    from torchlint.report import write_json
    from torchlint.report.pages import as_object, in_runs, write_rules

    known = [rule for rule in catalogue() if in_runs(rule)]
    if output_format == "json":
        write_json([as_object(rule, "TS") for rule in known], sys.stdout)
    else:
        write_rules(known, "TS", "torchsan", sys.stdout)
