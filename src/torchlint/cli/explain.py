"""`torchlint explain` and `torchlint rules`: the catalogue, for people and for scripts."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from torchlint.catalogue.pages import Catalogue, Rule
from torchlint.report import write_json
from torchlint.report.pages import as_object, write_page, write_rules
from torchlint.settings.lookup import load
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import nearest

_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_FORMAT = click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
                       help="How to print them.")


def _catalogue() -> Catalogue:
    return load_rules(load([Path.cwd()]))


@click.command(context_settings=_HELP)
@click.argument("rules", nargs=-1, metavar="RULE...")
@click.option("--all", "every", is_flag=True, help="All rules, one after the other.")
@_FORMAT
def explain(rules: tuple[str, ...], every: bool, output_format: str) -> None:
    """Tell what a rule is about, why it matters, and how to mend what it finds.

    RULE is its number (101), its code (TL101) or its name (missing-zero-grad).
    """
    if every == bool(rules):
        raise click.UsageError("--all is of use only without a RULE" if every else "Missing argument 'RULE'")
    known = _catalogue()
    found = list(known) if every else [_rule(word, known) for word in rules]
    if output_format == "json":
        objects = [{**as_object(rule), "text": rule.text.strip()} for rule in found]
        write_json(objects if every or len(objects) > 1 else objects[0], sys.stdout)
        return
    for number, rule in enumerate(found):
        if number:
            print("\n")
        write_page(rule, "TL", sys.stdout)


def _rule(word: str, known: Catalogue) -> Rule:
    found = known.find(word)
    if found is None:
        words = [*(f"TL{one.code:03d}" for one in known), *(one.name for one in known)]
        raise click.UsageError(f"there is no rule {word!r}{nearest(word, words)}; torchlint rules lists them all")
    return found


@click.command(context_settings=_HELP)
@_FORMAT
@click.option("--test", "folder", metavar="DIR", help="Judge the blocks of the rule pages in a folder instead, by their marks.")
def rules(output_format: str, folder: str | None) -> int:
    """List all rules, or test pages of your own."""
    if folder is not None:
        from torchlint.cli.page_tests import test_pages

        return test_pages(Path(folder))
    known = _catalogue()
    if output_format == "json":
        write_json([as_object(rule) for rule in known], sys.stdout)
    else:
        write_rules(known, "TL", "torchlint", sys.stdout)
    return 0
