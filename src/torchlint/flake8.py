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
from torchlint.files.disk import as_saved
from torchlint.files.modules import Modules
from torchlint.files.parse import parse_source
from torchlint.files.reading import read_bytes
from torchlint.files.source import Problem, Source, SourceError
from torchlint.findings import Finding, Location
from torchlint.run.digests import Digests
from torchlint.run.discovery import is_text
from torchlint.run.one import Judging
from torchlint.run.runner import Runner
from torchlint.settings.config import Config, ConfigError
from torchlint.settings.lookup import Nearest, load
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import SelectorError, active, rules_of

_STDIN = ("-", "stdin")


class TorchlintPlugin:
    """Made by flake8 for each file; `run` gives what it is to report.

    Rules and settings come from [tool.torchlint]; codes that flake8's own select and extend-select spell out, beyond
    "TL", are judged by too. The other files of its project that use a file are judged for what they make known of it.
    """

    name = "torchlint"
    version = __version__

    _wanted: tuple[str, ...] = ()
    _stdin_name = "stdin"
    _ignores_noqa = False
    _runners: dict[Path, _Made | str] = {}

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
        runner = made.runner
        # flake8 decoded the file and cut the byte-order mark; only the line ends may still be of any kind.
        text = "".join(line.rstrip("\r\n") + "\n" if line.endswith(("\r\n", "\r")) else line for line in self._lines)
        source = Source(path, text)
        runner.sources.add(source)
        findings, problems = made.judged(path, source)
        for problem in problems:
            if problem.internal or path in made.apart:
                print(f"torchlint: {name}: {problem.message}", file=sys.stderr)
        for finding in runner.visible(findings, noqa=not self._ignores_noqa):
            at = finding.location
            text = f"{finding.code} {_with_related(finding.message, finding.related, at)}"
            yield at.row, at.column - 1, text, type(self)

    @classmethod
    def _runner(cls, folder: Path) -> _Made | str:
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
    def _make(cls, folder: Path) -> _Made:
        config = load([folder])
        for made in cls._runners.values():
            if not isinstance(made, str) and made.runner.config == config:
                return made
        catalogue = load_rules(config)
        rules = active(catalogue, config.select, config.ignore, config.extend_select)
        rules = active(catalogue, None, (), [code for code in cls._wanted if _known(code, catalogue)], start=rules)
        return _Made(Runner(config, rules, catalogue, lookup=_lookup))


class _Made:
    """What judges the files that one set of settings holds for. Files do not change while flake8 runs."""

    def __init__(self, runner: Runner):
        self.runner = runner
        self.apart: frozenset[str] = frozenset()
        modules = Modules(runner.order.roots)
        self._digests = Digests(modules=modules)
        self._cache = runner.cache(self._digests)
        self._judging = Judging(runner.order, runner.projects, modules, runner.fresh, self._cache)

    def judged(self, path: str, source: Source) -> tuple[list[Finding], list[Problem]]:
        """The findings that stand in a file of which flake8 has the text, and what is to be said of judging it."""
        try:
            is_saved = is_text(path) and parse_source(path, read_bytes(path)).text == source.text
        except (OSError, SourceError):
            is_saved = False
        if is_saved:
            found = self._judging.of(path, source, self._digests, self._digests.of(path) or "")
            self.apart = self._judging.apart
            self._cache.save()
            return found
        findings, problems, judging = self.runner.look_at(path, as_saved(source.text), use_cache=is_text(path))
        self.apart = judging.apart
        return findings, problems


def _lookup(root: str) -> tuple[Config, Nearest]:
    places = [Path(root)]
    config = load(places)
    return config, Nearest(config, places)


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
