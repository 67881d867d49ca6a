"""A judge that stays, for an editor or a script that asks again and again: what it has read and found out is kept, as long as it
holds."""

from __future__ import annotations

import functools
import os
from os import PathLike
from pathlib import Path

from torchlint.files.disk import Unsaved
from torchlint.files.garbage import collect_if_much, no_gc
from torchlint.files.modules import Modules
from torchlint.files.source import Problem
from torchlint.findings import Finding
from torchlint.run.cache import Digests
from torchlint.run.fresh_verdicts import Fresh
from torchlint.run.judge import Judge, Order, make_engine
from torchlint.run.runner import Outcome, Runner
from torchlint.settings.choice import Choice, paths_of


class Findings(list[Finding]):
    """The findings, in order of place. `problems` are the files, or parts of files, that could not be judged, and why;
    `warnings` are lines about anything else that went wrong."""

    def __init__(self, outcome: Outcome):
        super().__init__(outcome.findings)
        self.problems: list[Problem] = outcome.problems
        self.warnings: list[str] = outcome.warnings


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
        self._begin(self._runner().order)

    def check(self, path: str | PathLike[str], text: str | bytes | None = None) -> Findings:
        """The findings of a file; some may stand in other files, which it calls.

        Args:
            path: the file.
            text: its unsaved text, which counts, for this file and for those that import it, until another one comes, or
                `forget`. None takes the text that was given last, or else what is on disk.

        Raises:
            OSError: there is no such file, or it cannot be read.
        """
        path = os.path.abspath(path)
        if text is not None:
            self._disk.put(path, text)
        self._disk.look_again()
        raw = self._disk.read(path)
        runner = self._runner()
        if runner.order != self._order:
            self._begin(runner.order)
        self._modules.look_again()
        digests = Digests(modules=self._modules)
        verdict = self._known.get(path, digests)
        if verdict is None:
            with no_gc():
                self._judge.look_again(digests.of)
                verdict = self._judge.content(path, raw)
                collect_if_much()
            self._known.put(path, verdict)
        return Findings(runner.outcome(verdict.findings, verdict.problems, 1, []))

    def changed(self, path: str | PathLike[str], text: str | bytes) -> None:
        """Take an unsaved text, as `check` does, without judging it now."""
        self._disk.put(os.path.abspath(path), text)

    def forget(self, path: str | PathLike[str]) -> None:
        """Drop the unsaved text of a file: what is on disk counts again."""
        self._disk.drop(os.path.abspath(path))

    def _runner(self) -> Runner:
        """A runner by the settings as they are now."""
        return Runner(*self._choice.load(self._places), disk=self._disk)

    def _begin(self, order: Order) -> None:
        """Starts with nothing known: what was found out by another order may not hold."""
        self._order = order
        self._modules = Modules(order.roots, self._disk)
        self._judge = Judge(order, functools.partial(make_engine, modules=self._modules))
        self._known = Fresh()
