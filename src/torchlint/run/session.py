"""A judge that stays, for an editor or a script that asks again and again: what it has read and found out is kept, as long as it
holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from torchlint.catalogue.pages import Catalogue, Rule
from torchlint.files.disk import Unsaved
from torchlint.files.modules import Modules
from torchlint.files.source import Problem
from torchlint.findings import Finding
from torchlint.run.digests import Digests
from torchlint.run.discovery import Discovery
from torchlint.run.fresh_verdicts import Fresh
from torchlint.run.judge import Order
from torchlint.run.one import Judging
from torchlint.run.projects import Projects
from torchlint.run.runner import Outcome, Runner
from torchlint.settings.choice import Choice, paths_of
from torchlint.settings.config import Config


class Findings(list[Finding]):
    """The findings, in order of place. `problems` are the files, or parts of files, that could not be judged, and why;
    `warnings` are lines about anything else that went wrong."""

    def __init__(self, outcome: Outcome):
        super().__init__(outcome.findings)
        self.problems: list[Problem] = outcome.problems
        self.warnings: list[str] = outcome.warnings

    def _repr_html_(self) -> str:
        """What a notebook shows of them."""
        from torchlint.report.notebook import as_table

        head = f"torchlint: {len(self)} finding{'s' if len(self) != 1 else ''}" if self else "torchlint: nothing found"
        return as_table(self, head, [*(f"{one.filename}: {one.message}" for one in self.problems), *self.warnings])


class Session:
    """A judge of single files that keeps what it knows between questions.

    What it says of a file is what the command would say of it, if all unsaved texts that the session was given were saved.
    Nobody has to tell it of changes on disk: each question looks at whatever its answer depends on, settings too. It is
    for one thread at a time.

    Args:
        project: the folder, file or files that settings are looked for from, as for the command.
        choice: `select`, `ignore`, `extend_select`, `torch_version`, `settings` and `isolated`, as for `torchlint.check`.

    Raises:
        ConfigError, PageError, SelectorError, ValueError: see `torchlint.check`; the questions raise them, too, once the
            settings cannot be used any more.
    """

    def __init__(self, project: str | PathLike[str] | list[str | PathLike[str]] = ".", **choice):
        self._places = [Path(os.path.abspath(path)) for path in paths_of(project)]
        self._choice = Choice(**choice)
        self._disk = Unsaved()
        self._kept: dict[str, tuple[Order, Modules, Judging]] = {}  # by settings file
        self.runner("")

    def check(
        self, path: str | PathLike[str], text: str | bytes | None = None, *, goes_on: Callable[[], bool] = lambda: True
    ) -> Findings:
        """The findings that stand in a file, whichever files of its project they come from.

        Args:
            path: the file.
            text: its unsaved text, which counts, for this file and for those that import it, until another one comes, or
                `forget`. None takes the text that was given last, or else what is on disk.
            goes_on: asked before each of the files that use it is judged for its sake. Where it says no, the rest of them is
                left out, and a problem says so; what was judged so far is known when the question is asked again.

        Raises:
            OSError: there is no such file, or it cannot be read.
        """
        path = os.path.abspath(path)
        if text is not None:
            self._disk.put(path, text)
        self._disk.look_again()
        raw = self._disk.read(path)
        runner = self.runner(path)
        modules, judging = self._judging_by(runner)
        modules.look_again()
        digests = Digests(modules=modules)
        judging.look_again(digests)
        findings, problems = judging.of(path, raw, digests, goes_on=goes_on)
        return Findings(runner.outcome(findings, problems, 1, []))

    def changed(self, path: str | PathLike[str], text: str | bytes) -> None:
        """Take an unsaved text, as `check` does, without judging it now."""
        self._disk.put(os.path.abspath(path), text)

    def forget(self, path: str | PathLike[str]) -> None:
        """Drop the unsaved text of a file: what is on disk counts again."""
        self._disk.drop(os.path.abspath(path))

    def read(self, path: str | PathLike[str]) -> bytes:
        """What a file holds, if the texts that were given are saved.

        Raises:
            OSError: there is no such file, or it cannot be read.
        """
        self._disk.look_again()
        return self._disk.read(os.path.abspath(path))

    def leaves_out(self, path: str | PathLike[str]) -> bool:
        """Whether a run over the project would pass a file over, as its settings or git's ignore files say."""
        path = os.path.abspath(path)
        return Discovery(self.settings(path)[0]).leaves_out(path)

    def settings(self, path: str) -> tuple[Config, tuple[Rule, ...], Catalogue]:
        """The settings that hold for a file, as they are now, the rules that they make active, and all rules."""
        config, *rest = self._choice.load(self._places)
        nearest = self._choice.nearest(config, self._places)
        near = nearest(os.path.dirname(path)) if nearest is not None else config
        return (config, *rest) if near is config else self._choice.of(near)

    def runner(self, path: str) -> Runner:
        """A runner by the settings that hold for a file, as they are now."""
        return Runner(*self.settings(path), disk=self._disk, lookup=self._choice.lookup)

    def _judging_by(self, runner: Runner) -> tuple[Modules, Judging]:
        """What judges by the runner's order. What was found out by another order may not hold."""
        name = str(runner.config.path)
        if name not in self._kept or self._kept[name][0] != runner.order:
            modules = Modules(runner.order.roots, self._disk)
            cache = runner.cache(Digests(modules=modules))
            judging = Judging(runner.order, Projects(self._choice.lookup), modules, Fresh(), cache, saved=False)
            self._kept[name] = runner.order, modules, judging
        return self._kept[name][1:]
