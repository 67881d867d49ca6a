"""`torchlint config`: what can be set, and how."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from torchlint.report import write_json
from torchlint.settings import keys
from torchlint.settings.selection import nearest

SCHEMA = Path(keys.__file__).with_name("schema.json")


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("key", required=False)
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
              help="How to print them.")
def config(key: str | None, output_format: str) -> None:
    """Say what KEY sets, its values and its default; without it, list all keys."""
    known: dict[str, Any] = msgspec.json.decode(SCHEMA.read_bytes())["properties"]
    if key is not None and key not in known:
        raise click.UsageError(f"there is no setting {key!r}{nearest(key.replace('_', '-'), known)}; torchlint config lists them all")
    if output_format == "json":
        write_json(known[key] if key is not None else known, sys.stdout)
    elif key is None:
        for name, told in known.items():
            print(f"{name:<{max(map(len, known))}}  {told['description']}")
    else:
        print(_page(key, known[key]))


def _page(key: str, told: dict[str, Any]) -> str:
    lines = [told["description"], ""]
    if "default" in told:
        lines.append(f"Default: {_toml(told['default'])}")
    lines += ["", "[tool.torchlint]", *(f"{key} = {_toml(value)}" for value in told["examples"])]
    return "\n".join(lines)


def _toml(value: Any) -> str:
    """A value as TOML has it: what JSON writes, but for tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
