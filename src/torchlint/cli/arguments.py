"""The options of `torchlint [PATHS]`, and what is read of each before anything is done."""

from __future__ import annotations

from typing import Any

import click

from torchlint import __version__
from torchlint.settings.formats import FORMATS

LEVELS = ("error", "warning", "note")


def _words(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...] | None:
    """Comma-separated lists, given once or several times, as one; None where the option was not given."""
    if not value:
        return None
    return tuple(word.strip() for part in value for word in part.split(",") if word.strip())


def _pairs(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, tuple[str, ...]] | None:
    """PATTERN:RULE, with commas between, as a table from pattern to rules."""
    words = _words(context, parameter, value)
    if words is None:
        return None
    table: dict[str, tuple[str, ...]] = {}
    for word in words:
        pattern, colon, rule = word.rpartition(":")
        if not (colon and pattern.strip() and rule.strip()):
            raise click.BadParameter(f"{word!r} is no PATTERN:RULE such as tests/*:TL2", context, parameter)
        table[pattern.strip()] = (*table.get(pattern.strip(), ()), rule.strip())
    return table


def _release(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    from torchlint.settings.keys import parse_version

    version = parse_version(value)
    if version is None:
        raise click.BadParameter(f"{value!r} is no release such as 2.6", context, parameter)
    return version


_RULES = {"multiple": True, "callback": _words, "metavar": "RULES"}
_PATTERNS = {"multiple": True, "callback": _words, "metavar": "PATTERNS"}
_TABLE = {"multiple": True, "callback": _pairs, "metavar": "PATTERN:RULE"}


@click.command(
    name="check",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nOther commands:\n"
    "  torchlint explain RULE  what a rule is about, why, and how to mend it (101, TL101, its name)\n"
    "  torchlint rules         all rules\n"
    "  torchlint config [KEY]  what can be set, and how\n"
    "  torchlint clean         remove the caches\n\n"
    "RULES are codes (TL101), prefixes (TL1), groups (correctness, suspicious, performance, opt-in), names or ALL, "
    "with commas between them. Settings are read from [tool.torchlint] in the pyproject.toml, or from the torchlint.toml, "
    "that is nearest to each file. "
    "Exit status: 0 clean, 1 findings, 2 could not run or some file could not be judged.",
)
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--select", **_RULES, help="Judge by these rules alone.  [default: correctness,suspicious]")
@click.option("--extend-select", **_RULES, help="Judge by these rules too.")
@click.option("--ignore", **_RULES, help="Leave these rules out.")
@click.option("--per-file-ignores", **_TABLE, help="Leave rules out in some files, instead of those that the settings say.")
@click.option("--extend-per-file-ignores", **_TABLE, help="The same, besides those.")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, and print what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="Mend, or mark as fixable, what may need a second look, too.")
@click.option("--fix-only", is_flag=True, help="Mend, and print nothing of what is left. Implies --fix.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, and change nothing.")
@click.option("--show-fixes", is_flag=True, help="List what was mended, file by file.")
@click.option("--fixable", **_RULES, help="Mend what these rules find alone.  [default: ALL]")
@click.option("--unfixable", **_RULES, help="Mend nothing that these rules find.")
@click.option("--add-noqa", is_flag=True, help="Write a # noqa comment behind each statement that has a finding.")
@click.option("--unused-noqa", is_flag=True, help="Tell of # noqa: TLnnn comments that hide nothing; --fix removes them.")
@click.option("--ignore-noqa", is_flag=True, help="Tell of what # noqa comments hide, too.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings in FILE, which --update-baseline writes.")
@click.option("--update-baseline", is_flag=True, help="With --baseline: write the findings to FILE, and print none.")
@click.option("--with", "with_report", metavar="REPORT",
              help="Mark what a run has seen too, and add what it alone saw: REPORT is what "
              "`torchsan run --report out.json` wrote.")
@click.option("--show-settings", is_flag=True, help="Print the settings and the active rules, and judge nothing.")
@click.option("--show-files", is_flag=True, help="Print the files that would be judged, and judge nothing.")
@click.option("--torch-version", callback=_release, metavar="RELEASE",
              help="The torch release to judge by, such as 2.6.  [default: what your requirements admit]")
@click.option("-f", "--output-format", type=click.Choice(FORMATS), envvar="TORCHLINT_OUTPUT_FORMAT",
              help="How to print findings.  [default: full; agent where a coding agent runs the command]")
@click.option("-o", "--output-file", metavar="FILE", envvar="TORCHLINT_OUTPUT_FILE",
              help="Where to print findings.  [default: standard output]")
@click.option("--statistics", is_flag=True, help="Print how often each rule was broken instead of the findings.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto",
              help="When to colour.  [default: auto, on a terminal]")
@click.option("-w", "--watch", is_flag=True, help="Judge again whenever a file changes, until Ctrl-C.")
@click.option("-v", "--verbose", is_flag=True, help="Tell of settings, times, the cache, and which files were slow and why.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings and failures, nothing else.")
@click.option("--fail-on", type=click.Choice(LEVELS), help="Exit with 1 only for findings of this level or above.")
@click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even where there are findings.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 where anything was mended.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", envvar="TORCHLINT_JOBS",
              help="How many processes to use.  [default: one for each core]")
@click.option("-n", "--no-cache", is_flag=True, envvar="TORCHLINT_NO_CACHE", help="Neither read nor write the cache.")
@click.option("--cache-dir", metavar="FOLDER", envvar="TORCHLINT_CACHE_DIR",
              help="Where the cache is.  [default: .torchlint_cache in the project]")
@click.option("--stdin-filename", metavar="FILE", help="What to call standard input, which is read where PATHS is -.")
@click.option("--exclude", **_PATTERNS, help="Files and folders to leave out, instead of the usual ones.")
@click.option("--extend-exclude", **_PATTERNS, help="The same, besides the usual ones.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded and ignored files even where PATHS names them.")
@click.option("--alone", is_flag=True, help="Judge files without the others of their project that use them: quicker, and less is known.")
@click.option("--config", "configs", multiple=True, metavar="FILE | KEY=VALUE",
              help="Read settings from this file, or set one, written as in it: \"ignore = ['TL202']\".")
@click.option("--no-scout", is_flag=True, hidden=True)
@click.option("--no-summaries", is_flag=True, hidden=True)
@click.option("--isolated", is_flag=True, help="Read no settings files.")
@click.version_option(__version__, "-V", "--version", message="torchlint %(version)s")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Find the mistakes that ruin PyTorch training, in Python files and notebooks.

    PATHS are files and folders (the current one by default), or - for standard input.
    """
    from torchlint.cli.check import run_check
    from torchlint.cli.request import Request

    return run_check(Request(paths=paths, **options))
