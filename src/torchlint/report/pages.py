"""Rule pages and lists of rules, for both tools: `explain` and `rules`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from torchlint.catalogue.fixable import kind_of
from torchlint.catalogue.pages import DEFAULT_GROUPS, Rule
from torchlint.report.style import COLOURS, coloured, width

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST = 100


def in_source(rule: Rule) -> bool:
    """Whether torchlint can find it."""
    return rule.lint != "none"


def in_runs(rule: Rule) -> bool:
    """Whether torchsan can find it."""
    return rule.live != "none"


def not_seen(rule: Rule, prefix: str) -> str:
    """What is said of a rule that the tool with a prefix cannot judge by; "" where it can."""
    if prefix == "TL" and not in_source(rule):
        return f"TL{rule.code:03d} {rule.name} is nothing that source shows; torchsan finds it in a run"
    if prefix == "TS" and not in_runs(rule):
        return f"TS{rule.code:03d} {rule.name} is nothing that a run shows; torchlint finds it in the source"
    return ""


def as_object(rule: Rule, prefix: str = "TL") -> dict[str, Any]:
    """A rule in plain types. `lint` and `live` tell which tool can find it, `fixable` which fixes it gives, if any."""
    return {
        "code": f"{prefix}{rule.code:03d}", "name": rule.name, "summary": rule.summary, "group": rule.group,
        "severity": rule.severity.value, "default": rule.group in DEFAULT_GROUPS, "lint": in_source(rule),
        "live": in_runs(rule), "fixable": kind_of(rule.code, rule.forms) or None, "since": rule.since, "torch": rule.torch,
        "help": rule.help, "url": rule.url,
    }


def write_page(rule: Rule, prefix: str, out: TextIO) -> None:
    """Print a page: on a terminal laid out, elsewhere as the Markdown that it is."""
    if not coloured(out):
        lines = [f"# {prefix}{rule.code:03d} {rule.name}", rule.summary, _facts(rule, prefix), rule.text.strip()]
        out.write("\n\n".join(lines) + "\n")
        return
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    console = _console(out)
    colour = COLOURS[rule.severity.value]
    console.print(Text.assemble((f"{prefix}{rule.code:03d}", f"bold {colour}"), " ", (rule.name, "bold"), "  ", rule.summary))
    console.print(Text(_facts(rule, prefix), "dim"))
    # The marks on example lines (`# <- 101`) are for the tests of the page as well as for the reader.
    console.print(Padding(Markdown(rule.text, code_theme="ansi_dark"), (1, 0)))


def _facts(rule: Rule, prefix: str) -> str:
    kind = kind_of(rule.code, rule.forms)
    facts = [rule.group, rule.severity.value, "on by default" if rule.group in DEFAULT_GROUPS else "off by default"]
    facts += [f"torch {rule.torch}"] if rule.torch else []
    facts += [f"since {rule.since}"] if rule.since else []
    facts += [{"safe": "fixable", "unsafe": "unsafe fixes", "both": "safe and unsafe fixes"}[kind]] if kind else []
    facts += [] if in_source(rule) else ["source cannot show it, torchsan does"]
    facts += [] if in_runs(rule) else ["a run cannot show it, torchlint does"]
    facts += [rule.url] if rule.url else []
    return " · ".join(facts)


def write_rules(rules: Iterable[Rule], prefix: str, tool: str, out: TextIO) -> None:
    """Print a line a rule; on a terminal a table."""
    known = list(rules)
    if not coloured(out):
        longest = max((len(rule.name) for rule in known), default=0)
        for rule in known:
            out.write(f"{prefix}{rule.code:03d}  {rule.name:<{longest}}  {rule.group:<11}  {rule.summary}\n")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("code", "name", "group", "fix", "what goes wrong"):
        table.add_column(title, no_wrap=title in ("code", "group", "fix"))
    for rule in known:
        colour = COLOURS[rule.severity.value]
        table.add_row(
            Text(f"{prefix}{rule.code:03d}", f"bold {colour}"), Text(rule.name, "bold"), Text(rule.group, colour),
            Text(kind_of(rule.code, rule.forms), "cyan"), Text(rule.summary),
        )
    console = _console(out, None)
    console.print(table)
    console.print(Text(f"{tool} explain RULE tells what a rule is about, why, and how to mend what it finds.", "dim"))


def _console(out: TextIO, widest: int | None = _WIDEST) -> Console:
    from rich.console import Console

    # A log has no width: what is laid out there must have one all the same.
    columns = width(out) or (160 if widest is None else widest)
    console = Console(file=out, highlight=False, force_terminal=True, force_jupyter=False)
    console.width = columns if widest is None else min(columns, widest)
    return console
