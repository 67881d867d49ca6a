"""The flake8 plug-in: torchlint's findings, told by flake8. `flake8 --select TL` shows them alone."""

from __future__ import annotations

import ast
import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torchlint import __version__
from torchlint.catalogue.pages import PageError
from torchlint.files.garbage import no_gc
from torchlint.files.source import Source
from torchlint.findings import Location
from torchlint.run.judge import Judge
from torchlint.run.runner import Runner
from torchlint.settings.config import ConfigError
from torchlint.settings.lookup import load
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import SelectorError, active, rules_of

_STDIN = ("-", "stdin")


class TorchlintPlugin:
    """Made by flake8 for each file; `run` gives what it is to report.

    Rules and settings come from [tool.torchlint]; codes that flake8's own select and extend-select spell out, beyond
    "TL", are judged by too. Findings that stand in another file than the one checked are left to that file's report.
    """

    name = "torchlint"
    version = __version__

    _wanted: tuple[str, ...] = ()
    _stdin_name = "stdin"
    _ignores_noqa = False
    _runners: dict[Path, tuple[Runner, Judge] | str] = {}

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]):
        self._filename = filename
        self._lines = lines

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        """Take what matters here of flake8's own options."""
        named = (*(options.select or ()), *(getattr(options, "extend_select", None) or ()))
        cls._wanted = tuple(code for code in named if code.startswith("TL") and code != "TL")
        cls._stdin_name = getattr(options, "stdin_display_name", "stdin")
        cls._ignores_noqa = getattr(options, "disable_noqa", False)
        cls._runners = {}

    def run(self) -> Iterator[tuple[int, int, str, type[Any]]]:
        """Row, column (from 0), text and type of each finding in the file."""
        name = self._stdin_name if self._filename in _STDIN else self._filename
        path = os.path.abspath(name)
        made = self._runner(Path(path).parent)
        if isinstance(made, str):
            return
        runner, judge = made
        # flake8 decoded the file and cut the byte-order mark; only the line ends may still be of any kind.
        text = "".join(line.rstrip("\r\n") + "\n" if line.endswith(("\r\n", "\r")) else line for line in self._lines)
        source = Source(path, text)
        runner.sources.add(source)
        with no_gc():
            verdict = judge.source(source)
        for problem in verdict.problems:
            if problem.internal:
                print(f"torchlint: {name}: {problem.message}", file=sys.stderr)
        for finding in runner.visible(verdict.findings, noqa=not self._ignores_noqa):
            at = finding.location
            if at.filename == path:
                text = f"{finding.code} {_with_related(finding.message, finding.related, at)}"
                yield at.row, at.column - 1, text, type(self)

    @classmethod
    def _runner(cls, folder: Path) -> tuple[Runner, Judge] | str:
        """What judges the files of a folder; where its settings are broken, what is wrong, said once."""
        if folder not in cls._runners:
            try:
                cls._runners[folder] = cls._make(folder)
            except (ConfigError, PageError, SelectorError) as error:
                cls._runners[folder] = str(error)
                if str(error) not in [made for at, made in cls._runners.items() if at != folder]:
                    print(f"torchlint: error: {error}", file=sys.stderr)
        return cls._runners[folder]

    @classmethod
    def _make(cls, folder: Path) -> tuple[Runner, Judge]:
        config = load([folder])
        for made in cls._runners.values():
            if not isinstance(made, str) and made[0].config == config:
                return made
        catalogue = load_rules(config)
        rules = active(catalogue, config.select, config.ignore, config.extend_select)
        rules = active(catalogue, None, (), [code for code in cls._wanted if _known(code, catalogue)], start=rules)
        runner = Runner(config, rules, catalogue)
        return runner, Judge(runner.order)


def _known(code: str, catalogue: Any) -> bool:
    try:
        rules_of(code, catalogue)
    except SelectorError:
        return False
    return True


def _with_related(message: str, related: Sequence[Any], at: Location) -> str:
    """flake8 has one line a finding; the other lines that matter are named in it."""
    rows = [f"line {item.location.row}" for item in related if item.location.filename == at.filename]
    rows = [row for row in dict.fromkeys(rows) if row != f"line {at.row}"]
    return f"{message} (see {', '.join(rows)})" if rows else message
