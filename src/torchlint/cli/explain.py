"""`torchlint explain` and `torchlint rules`: the catalogue, for people and for scripts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from torchlint.catalogue.pages import DEFAULT_GROUPS, Catalogue, Rule
from torchlint.report import write_json
from torchlint.report.style import COLOURS, coloured
from torchlint.settings.lookup import load
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import nearest

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _catalogue() -> Catalogue:
    return load_rules(load([Path.cwd()]))


@click.command(context_settings=_HELP)
@click.argument("rule")
def explain(rule: str) -> None:
    """Tell what a rule is about, why it matters, and how to mend what it finds.

    RULE is its number (101), its code (TL101) or its name (missing-zero-grad).
    """
    known = _catalogue()
    found = known.find(rule)
    if found is None:
        words = [*(f"TL{one.code}" for one in known), *(one.name for one in known)]
        raise click.UsageError(f"there is no rule {rule!r}{nearest(rule, words)}; torchlint rules lists them all")
    if not coloured(sys.stdout):
        print(f"# TL{found.code} {found.name}\n\n{found.summary}\n\n{_facts(found)}\n\n{found.text.strip()}")
        return
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False, force_terminal=True)
    console.width = min(console.width, 100)
    colour = COLOURS[found.severity.value]
    console.print(Text.assemble((f"TL{found.code}", f"bold {colour}"), " ", (found.name, "bold"), "  ", found.summary))
    console.print(Text(_facts(found), "dim"))
    # The marks on example lines (`# <- 101`) are for the tests of the page as well as for the reader.
    console.print(Padding(Markdown(found.text, code_theme="ansi_dark"), (1, 0)))


def _facts(rule: Rule) -> str:
    facts = [rule.group, rule.severity.value, "on by default" if rule.group in DEFAULT_GROUPS else "off by default"]
    facts += [f"torch {rule.torch}"] if rule.torch else []
    facts += [f"since {rule.since}"] if rule.since else []
    return f"{' · '.join(facts)} · {rule.url}"


@click.command(context_settings=_HELP)
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="How to print them.")
@click.option("--test", "folder", metavar="DIR", help="Judge the blocks of the rule pages in a folder instead, by their marks.")
def rules(output_format: str, folder: str | None) -> int:
    """List all rules, or test pages of your own."""
    if folder is not None:
        from torchlint.cli.page_tests import test_pages

        return test_pages(Path(folder))
    known = _catalogue()
    if output_format == "json":
        write_json([_as_object(rule) for rule in known], sys.stdout)
    elif coloured(sys.stdout):
        _print_table(known)
    else:
        width = max((len(rule.name) for rule in known), default=0)
        for rule in known:
            print(f"TL{rule.code}  {rule.name:<{width}}  {rule.group:<11}  {rule.summary}")
    return 0


def _as_object(rule: Rule) -> dict[str, Any]:
    return {
        "code": f"TL{rule.code}", "name": rule.name, "summary": rule.summary, "group": rule.group,
        "severity": rule.severity.value, "default": rule.group in DEFAULT_GROUPS, "since": rule.since,
        "torch": rule.torch, "help": rule.help, "url": rule.url,
    }


def _print_table(known: Catalogue) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("code", "name", "group", "what goes wrong"):
        table.add_column(title, no_wrap=title in ("code", "group"))
    for rule in known:
        colour = COLOURS[rule.severity.value]
        table.add_row(Text(f"TL{rule.code}", f"bold {colour}"), Text(rule.name, "bold"), Text(rule.group, colour),
                      Text(rule.summary))
    console = Console(highlight=False, force_terminal=True)
    console.print(table)
    console.print(Text("torchlint explain RULE tells what a rule is about, why, and how to mend what it finds.", "dim"))
