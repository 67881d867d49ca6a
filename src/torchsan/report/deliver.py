"""Findings of a run: gathered, counted, and delivered once each in the way the user asked for."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import msgspec

from torchlint.findings import Finding
from torchsan.program import cells

MODES = ("warn", "raise", "collect")
MOST = 1000  # different findings of a run that are kept: who has as many will not read more


class SanError(RuntimeError):
    """Raised at the user's call when `on_finding="raise"`. The finding is in `finding`."""

    def __init__(self, finding: Finding):
        super().__init__(text(finding))
        self.finding = finding


class SanWarning(UserWarning):
    """The category of torchsan's warnings."""


def text(finding: Finding) -> str:
    """One finding in two lines at most: code, message, and how to mend it."""
    head = f"{finding.code} {finding.message}"
    return f"{head}\n  help: {finding.help}" if finding.help else head


class Findings:
    """Every different finding once, in the order of appearance, with how often it was seen.

    Args:
        on_finding: "warn", "raise", "collect" or a callable that takes the finding. A finding is delivered when it is
            first seen; a callable that raises ends nothing: its error is shown once.

    Attributes:
        ranks: the rank of this process, where it is one of several.
        one_voice: of several ranks, the first one tells of what they find, once. So it is with warnings; a callable of
            the user's is called on every rank.
        silent: with one voice, tell of nothing for now, since the first rank will.
    """

    def __init__(self, on_finding: str | Callable[[Finding], Any]):
        self.on_finding = on_finding
        self._first: dict[Any, Finding] = {}
        self._counts: dict[Any, int] = {}
        self._callable_failed = self._full = False
        self._others: list[Finding] = []  # found by other processes
        self._unsaid: list[Finding] = []
        self.ranks: tuple[int, ...] = ()
        self.one_voice = on_finding == "warn"
        self.silent = False

    def add(self, key: Any, finding: Finding) -> None:
        """Count `finding` under `key`; deliver it if it is the first.

        Raises:
            SanError: with `on_finding="raise"`.
        """
        if self.seen(key):
            return
        if len(self._first) >= MOST:
            if not self._full:
                self._full = True
                say(f"there are more than {MOST} different findings: the others are not told")
            return
        finding = self._first[key] = msgspec.structs.replace(finding, ranks=self.ranks)
        self._counts[key] = 1
        if self.on_finding == "raise":
            raise SanError(finding)
        self._deliver(finding)

    def _deliver(self, finding: Finding) -> None:
        if self.silent and self.one_voice:
            self._unsaid.append(finding)
        elif self.on_finding == "warn":
            _warn(finding)
        elif callable(self.on_finding):
            try:
                self.on_finding(finding)
            except SanError:
                raise
            except Exception as error:
                if not self._callable_failed:
                    self._callable_failed = True
                    say(f"on_finding failed with {type(error).__name__}: {error}")

    def seen(self, key: Any) -> bool:
        """True, and counted once more, if a finding is known under `key`."""
        if key not in self._counts:
            return False
        self._counts[key] += 1
        return True

    def speak(self) -> None:
        """Nobody else will tell what this rank found: tell it after all."""
        self.silent = False
        while self._unsaid:
            self._deliver(self._unsaid.pop(0))

    def join(self, others: list[Finding], told: bool = False) -> None:
        """Take up what another process found; what this one did not know, and nobody `told`, is delivered, too."""
        known = {_same(finding) for finding in self.list()}
        self._others.extend(others)
        for finding in self.list():
            if not told and _same(finding) not in known:
                self._deliver(finding)

    def list(self) -> list[Finding]:
        """All findings with their counts; those of other processes at the same place are one with ours."""
        own = [
            msgspec.structs.replace(finding, count=self._counts[key], ranks=self.ranks)
            for key, finding in self._first.items()
        ]
        return own if not self._others else merged([*own, *self._others])


def _same(finding: Finding) -> tuple:
    """What is equal for one mistake on several ranks. What stands in brackets was measured, on each its own."""
    return finding.code, finding.location.filename, finding.location.row, finding.message.partition(" (")[0]


def merged(findings: list[Finding]) -> list[Finding]:
    """Findings of several processes: a mistake at a place is one finding, with all ranks, counted in all."""
    found: dict[tuple, Finding] = {}
    for finding in findings:
        first = found.setdefault(_same(finding), finding)
        if first is not finding:
            ranks = tuple(sorted({*first.ranks, *finding.ranks}))
            count = first.count + finding.count
            found[_same(finding)] = msgspec.structs.replace(first, ranks=ranks, count=count)
    return list(found.values())


def _warn(finding: Finding) -> None:
    at = finding.location
    cell = cells.name_of(at.filename)
    if cell is not None:  # the file's name would be one of the kernel's, and say nothing
        say(f"{cell}:{at.row}: {text(finding)}")
        return
    try:
        # A registry of its own: whether a finding is news is decided here, not by Python's once-per-line rule.
        warnings.warn_explicit(text(finding), SanWarning, at.filename, at.row, module=__name__, registry={})
    except Exception:
        # Filters such as -W error turn warnings into exceptions; a watch set to "warn" must not end the run.
        say(f"{at.filename}:{at.row}: {text(finding)}")


def say(line: str) -> None:
    """A word about torchsan itself, to standard error."""
    try:
        print(f"torchsan: {line}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        pass  # standard error may be closed or missing (pythonw, a daemon): then there is nobody to tell
