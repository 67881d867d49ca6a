"""The options of `torchlint [PATHS]`, and what is read of each before anything is done."""

from __future__ import annotations

from typing import Any

import click

from torchlint import __version__

# The names of torchlint.report.FORMATS; listed here so that --help does not load the reports.
FORMATS = ("full", "concise", "json", "github", "sarif", "junit")


def _words(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...] | None:
    """Comma-separated lists, given once or several times, as one; None where the option was not given."""
    if not value:
        return None
    return tuple(word.strip() for part in value for word in part.split(",") if word.strip())


def _release(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    from torchlint.settings.keys import parse_version

    version = parse_version(value)
    if version is None:
        raise click.BadParameter(f"{value!r} is no release such as 2.6", context, parameter)
    return version


@click.command(
    name="check",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nOther commands:\n"
    "  torchlint explain RULE  what a rule is about, why, and how to mend it (101, TL101, its name)\n"
    "  torchlint rules         all rules\n\n"
    "RULES are codes (TL101), prefixes (TL1), groups (correctness, suspicious, performance, opt-in), names or ALL, "
    "with commas between them. Settings are read from [tool.torchlint] in the nearest pyproject.toml. "
    "Exit status: 0 clean, 1 findings, 2 could not run or some file could not be judged.",
)
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--select", multiple=True, callback=_words, metavar="RULES",
              help="Judge by these rules alone.  [default: correctness,suspicious]")
@click.option("--extend-select", multiple=True, callback=_words, metavar="RULES", help="Judge by these rules too.")
@click.option("--ignore", multiple=True, callback=_words, metavar="RULES", help="Leave these rules out.")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, and print what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: mend what may need a second look, too.")
@click.option("--diff", is_flag=True, help="Print what --fix would change, and change nothing.")
@click.option("--add-noqa", is_flag=True, help="Write a # noqa comment behind each statement that has a finding.")
@click.option("--baseline", metavar="FILE", help="Leave out the findings in FILE, which --update-baseline writes.")
@click.option("--update-baseline", is_flag=True, help="With --baseline: write the findings to FILE, and print none.")
@click.option("--with", "with_report", metavar="REPORT",
              help="Mark what a run has seen too, and add what it alone saw: REPORT is what "
              "`torchsan run --report out.json` wrote.")
@click.option("--unused-noqa", is_flag=True, help="Tell of # noqa: TLnnn comments that hide nothing.")
@click.option("--show-settings", is_flag=True, help="Print the settings and the active rules, and judge nothing.")
@click.option("--show-files", is_flag=True, help="Print the files that would be judged, and judge nothing.")
@click.option("--torch-version", callback=_release, metavar="RELEASE",
              help="The torch release to judge by, such as 2.6.  [default: the lowest your requirements admit]")
@click.option("-f", "--output-format", type=click.Choice(FORMATS), default="full", show_default=True,
              help="How to print findings.")
@click.option("-o", "--output-file", metavar="FILE", help="Where to print findings.  [default: standard output]")
@click.option("--statistics", is_flag=True, help="Print how often each rule was broken instead of the findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings and failures, nothing else.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even where there are findings.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N",
              help="How many processes to use.  [default: one for each core]")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("--cache-dir", metavar="FOLDER", help="Where the cache is.  [default: .torchlint_cache in the project]")
@click.option("--stdin-filename", metavar="FILE", help="What to call standard input, which is read where PATHS is -.")
@click.option("--force-exclude", is_flag=True, help="Leave out excluded and ignored files even where PATHS names them.")
@click.option("--config", "config_file", metavar="FILE", help="Read settings from this file.")
@click.option("--no-scout", is_flag=True, hidden=True)
@click.option("--isolated", is_flag=True, help="Read no settings.")
@click.version_option(__version__, message="torchlint %(version)s")
def check(paths: tuple[str, ...], **options: Any) -> int:
    """Find the mistakes that ruin PyTorch training, in Python files and notebooks.

    PATHS are files and folders (the current one by default), or - for standard input.
    """
    from torchlint.cli.check import run_check
    from torchlint.cli.request import Request

    return run_check(Request(paths=paths, **options))
