"""Writes the parts of docs/cli.md and docs/settings.md that the tools themselves know: commands, options, variables, settings.

    python docs/update_reference.py           # write them anew
    python docs/update_reference.py --check   # change nothing; exit status 1 where a page is not up to date

A part stands between `<!-- made: NAME -->` and `<!-- end -->`; the rest of the pages is written by hand.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
from torchlint import cli as torchlint_cli  # noqa: E402
from torchsan.options import LEVELS, Options  # noqa: E402
from torchsan.report.deliver import MODES  # noqa: E402
from torchsan.run.cli import cli as torchsan_cli  # noqa: E402

PAGES = (ROOT / "docs" / "cli.md", ROOT / "docs" / "settings.md")
PLACE = re.compile(r"(?P<head><!-- made: (?P<name>[\w-]+) -->\n).*?(?P<tail>^<!-- end -->$)", re.S | re.M)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(_cell, row)) + " |" for row in rows)]) + "\n"


def _commands() -> Iterator[tuple[str, click.Command]]:
    yield "torchlint", torchlint_cli.arguments.check
    for name, module in torchlint_cli.COMMANDS.items():
        yield f"torchlint {name}", getattr(importlib.import_module(f"torchlint.cli.{module}"), name)
    for name, command in sorted(torchsan_cli.commands.items(), key=lambda item: item[0] != "run"):
        yield f"torchsan {name}", command


def _options(command: click.Command) -> Iterator[tuple[str, ...]]:
    context = click.Context(command, **command.context_settings)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or isinstance(parameter, click.Argument) or getattr(parameter, "hidden", False):
            continue
        spelt, said = record[0], record[1].replace("\b", "")
        if isinstance(parameter.type, click.Choice):
            choices = [str(choice) for choice in parameter.type.choices]
            spelt, said = spelt.partition(" [")[0], f"{said} One of {', '.join(f'`{choice}`' for choice in choices)}."
        variable = getattr(parameter, "envvar", None)
        yield f"`{spelt}`", said, f"`{variable}`" if variable else ""


def _usage(name: str, command: click.Command) -> str:
    return " ".join([name, *command.collect_usage_pieces(click.Context(command, **command.context_settings))])


def commands() -> str:
    parts = []
    for name, command in _commands():
        text = " ".join((command.help or "").split("\f")[0].replace("\b", "").split())
        rows = list(_options(command))
        has_variables = any(row[2] for row in rows)
        head = ("option", "what it does", "environment") if has_variables else ("option", "what it does")
        table = _table(head, (row[:len(head)] for row in rows))
        parts.append(f"## {name}\n\n```text\n{_usage(name, command)}\n```\n\n{text}\n\n{table}")
    return "\n" + "\n".join(parts) + "\n"


def settings() -> str:
    known = json.loads((ROOT / "src" / "torchlint" / "settings" / "schema.json").read_text(encoding="utf-8"))["properties"]
    parts = []
    for key, about in known.items():
        default = f"\n\nDefault: `{_toml(about['default'])}`" if about.get("default") not in (None, [], {}) else ""
        example = f"```toml\n[tool.torchlint]\n{key} = {_toml(about['examples'][0])}\n```"
        parts.append(f"### {key}\n\n{about['description']}{default}\n\n{example}\n")
    return "\n" + "\n".join(parts) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key if re.fullmatch('[a-z-]+', key) else _toml(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    return "[" + ", ".join(map(_toml, value)) + "]"


def options() -> str:
    told = {
        "on_finding": f"What is done with a new finding: {', '.join(MODES)}, or in `watch()` a function that takes it.",
        "select": "The mistakes to look for: codes, prefixes, groups, names or ALL.",
        "extend_select": "Mistakes to look for besides.",
        "ignore": "Mistakes to leave out; the longest match decides.",
        "level": f"{', '.join(LEVELS)}: `thorough` looks closer and takes more time, `memory` may change numbers and speed.",
        "extend_rules": "Folders with rule pages of your own.",
    }
    rows = ((f"`{name}`", told[name], f"`{_toml(default)}`") for name, default in zip(Options.__struct_fields__, Options.__struct_defaults__))
    return "\n" + _table(("option", "what it sets", "default"), rows) + "\n"


PARTS: dict[str, Callable[[], str]] = {"commands": commands, "settings": settings, "options": options}


def fill(text: str) -> str:
    """`text` with its made parts as the tools have them now."""
    return PLACE.sub(lambda match: match["head"] + PARTS[match["name"]]() + match["tail"], text)


def main() -> int:
    stale = []
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = fill(old)
        if new != old:
            stale.append(page.relative_to(ROOT).as_posix())
            if "--check" not in sys.argv[1:]:
                page.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"not up to date: {', '.join(stale)}: run python docs/update_reference.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
