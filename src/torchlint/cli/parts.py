"""The parts of a run: the files of each settings file, and what judges them. Most runs have one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from torchlint.catalogue.pages import Catalogue, Rule
from torchlint.cli.request import Request
from torchlint.files.source import Problem, Source
from torchlint.findings import Finding, Location
from torchlint.run.discovery import Discovery, File
from torchlint.run.projects import Projects
from torchlint.run.runner import Outcome, Runner
from torchlint.settings.config import Config
from torchlint.settings.lookup import Nearest, load
from torchlint.settings.rulebook import load_rules
from torchlint.settings.selection import SelectorError, asked_for


class Part(msgspec.Struct):
    """The files that one settings file holds for; None until they were looked for."""

    config: Config
    catalogue: Catalogue
    rules: tuple[Rule, ...]
    runner: Runner
    files: list[File] = []


class Parts:
    """All parts of a run, as one: what findings of it are looked up in.

    Args:
        request: what was asked for.

    Raises:
        ConfigError, PageError: the settings or a rule page cannot be used.
        click.UsageError: an option selects what is no rule.
    """

    def __init__(self, request: Request):
        self._request = request
        config, self._nearest = self._settings(request.places)
        self.first = self._part(config)
        self._parts = [self.first]
        self.problems: list[Problem] = []

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def find(self) -> list[File]:
        """Look for the files, and share them out by the settings that hold for them; all of them."""
        discovery = Discovery(self.first.config, self._request.force_exclude, self._nearest)
        files = discovery.find(self._request.wanted)
        self.problems = discovery.problems
        walked = [os.path.abspath(path) for path in self._request.wanted if os.path.isdir(path)]
        projects = Projects(lambda root: self._settings([Path(root)]), walked, files, self._request.alone)
        parts = {id(self.first.config): self.first}
        for file in files:
            config = discovery.configs.get(file.path, self.first.config)
            if id(config) not in parts:
                parts[id(config)] = self._part(config)
            parts[id(config)].files.append(file)
            parts[id(config)].runner.projects = projects
        self._parts = [part for part in parts.values() if part.files] or [self.first]
        return files

    def _settings(self, places: Sequence[Path]) -> tuple[Config, Nearest | None]:
        """The settings for some paths, and those of the folders in them."""
        request, overrides = self._request, self._request.overrides
        config = load(places, request.config_file, request.isolated, overrides)
        has_own = not (request.config_file or request.isolated)
        return config, Nearest(config, places, overrides) if has_own else None

    def _part(self, config: Config) -> Part:
        request, catalogue = self._request, load_rules(config)
        try:
            rules = asked_for(catalogue, config, request.select, request.ignore, request.extend_select)
        except SelectorError as error:
            raise click.UsageError(_option_of(str(error), request)) from None
        runner = Runner(config, rules, catalogue)
        runner.projects = Projects(lambda root: self._settings([Path(root)]), alone=request.alone)
        runner.order = msgspec.structs.replace(runner.order, scout=not request.no_scout, summaries=not request.no_summaries)
        runner.heeds_noqa = not request.ignore_noqa
        return Part(config, catalogue, rules, runner)

    def not_seen(self) -> list[str]:
        """A line for each rule that was selected by its code or name, and that source cannot show."""
        request, config = self._request, self.first.config
        words = [*(request.select or config.select or ()), *(request.extend_select or ()), *config.extend_select]
        if not words:
            return []
        from torchlint.report.pages import not_seen

        named = (self.first.catalogue.find(word) for word in words)
        return list(dict.fromkeys(line for rule in named if rule is not None and (line := not_seen(rule, "TL"))))

    @property
    def judged(self) -> frozenset[str]:
        """The files that were to be judged, by their full paths."""
        return frozenset().union(*(part.runner.judged for part in self._parts))

    @property
    def rules(self) -> dict[int, Rule]:
        """The active rules of all parts, by number."""
        return {rule.code: rule for part in self._parts for rule in part.rules}

    def name_of(self, code: str) -> str:
        """What the rule with a code is called."""
        rule = self.rules.get(int(code[2:]))
        return "unused-noqa" if rule is None else rule.name

    def config_of(self, filename: str) -> Config:
        """The settings that hold for a file."""
        return self._of(filename).config

    def source(self, filename: str) -> Source | None:
        """A file, by its full path, as it was judged; None where it cannot be read."""
        return self._of(filename).source(filename)

    def line(self, location: Location) -> str | None:
        """The source line that a location of the outcome begins on; None where it cannot be read."""
        return self._of(location.filename).line(location)

    def judged_line(self, finding: Finding) -> str | None:
        """The source line that a finding of the outcome stands on; None where its file is not any more what was judged."""
        return self._of(finding.location.filename).judged_line(finding)

    def fit(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings from elsewhere, with full file names, made fit to be told beside those of the run."""
        given = list(findings)
        return [
            told for part in self._parts
            for told in part.runner.fit(one for one in given if self._of(one.location.filename) is part.runner)
        ]

    def answers(self, outcome: Outcome, with_live: bool) -> Callable[[str, str], bool]:
        """Whether a run has said all there is to say of a file (by its full path) and a code. All is said of one that is gone."""
        whole = self.judged.difference(os.path.abspath(problem.filename) for problem in outcome.problems)
        whole = whole.difference(*(part.runner.apart for part in self._parts))

        def is_answered(path: str, code: str) -> bool:
            asked = with_live if code.startswith("TS") else code in {f"TL{rule.code:03d}" for rule in self._of(path).order.rules}
            return asked and path in whole or not os.path.exists(path)

        return is_answered

    def _of(self, filename: str) -> Runner:
        """What judges a file; the first of all for those that nobody asked for."""
        if len(self._parts) == 1:
            return self._parts[0].runner
        path = os.path.abspath(filename)
        return next((part.runner for part in self._parts if path in part.runner.judged), self._parts[0].runner)


def _option_of(message: str, request: Request) -> str:
    """The message with the option that holds the word it complains of."""
    given = (("--select", request.select), ("--ignore", request.ignore), ("--extend-select", request.extend_select))
    for option, words in given:
        if any(message.startswith(repr(word)) for word in words or ()):
            return f"{option}: {message}"
    return message


def cache_of(request: Request) -> dict[str, object]:
    """What a runner is told of the cache."""
    return {"cache_dir": Path(request.cache_dir) if request.cache_dir else None, "use_cache": not request.no_cache}
