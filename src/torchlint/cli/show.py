"""What `--show-settings`, `--show-files` and `--diff` print."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from torchlint.catalogue.pages import Rule
from torchlint.cli.status import FAILED
from torchlint.files.source import Problem
from torchlint.report import clean, path
from torchlint.report.style import coloured
from torchlint.run.discovery import File
from torchlint.settings.config import Config
from torchlint.settings.lookup import cache_folder

_DIFF_COLOURS = {"+": 32, "-": 31, "@": 36}


def print_settings(config: Config, rules: Sequence[Rule]) -> int:
    """Prints the settings that a run here has, and the rules that they make active."""
    version = config.torch_in_words
    ignores = [f"{pattern}: {', '.join(codes)}" for pattern, codes in (*config.per_file_ignores.items(), *config.extend_per_file_ignores.items())]
    rows = {
        "settings": ", extends ".join(str(layer.path) for layer in config.layers if layer.path) or "none: the defaults",
        "project": str(config.root),
        "torch-version": version,
        "cache-dir": str(cache_folder(config)),
        "exclude": ", ".join(config.exclude),
        "extend-rules": ", ".join(config.extend_rules),
        "per-file-ignores": "; ".join(ignores),
        "fixable": "ALL" if config.fixable is None else ", ".join(config.fixable),
        "unfixable": ", ".join(config.unfixable),
        "fail-on": config.fail_on.value,
        "output-format": config.output_format or "",
        "unused-noqa": str(config.unused_noqa).lower(),
        "strict-tests": str(config.strict_tests).lower(),
        "severity": ", ".join(f"{group}: {severity.value}" for group, severity in config.severity.items()),
    }
    for key, value in rows.items():
        print(f"{key + ':':<18}{clean(value)}".rstrip())
    print(f"\n{len(rules)} active rules:")
    for rule in rules:
        print(f"TL{rule.code:03d}  {rule.name}")
    return 0


def print_files(files: Sequence[File], problems: Sequence[Problem]) -> int:
    """Prints the files that a run judges, and what could not be looked into; the exit status."""
    for name in sorted(file.path for file in files):
        shown = os.path.relpath(name)
        print(path(name if shown.startswith("../") else shown))
    for problem in problems:
        print(f"torchlint: {clean(f'{problem.filename}: {problem.message}')}", file=sys.stderr)
    return FAILED if problems else 0


def print_diff(text: str, out: TextIO) -> None:
    """Prints a diff: on a terminal without what could take it over, elsewhere byte by byte, for `patch`."""
    terminal, colours = out.isatty(), coloured(out)
    if not (terminal or colours):
        out.write(text)
        return
    for line in text.split("\n")[:-1]:
        line = clean(line.rstrip("\r"))
        colour = _DIFF_COLOURS.get(line[:1]) if colours and not line.startswith(("+++", "---")) else None
        out.write(f"\x1b[{colour}m{line}\x1b[0m\n" if colour else f"{line}\n")
