"""Findings of a run: gathered, counted, and delivered once each in the way the user asked for."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import msgspec

from torchlint.findings import Finding

MODES = ("warn", "raise", "collect")


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
    """

    def __init__(self, on_finding: str | Callable[[Finding], Any]):
        self.on_finding = on_finding
        self._first: dict[Any, Finding] = {}
        self._counts: dict[Any, int] = {}
        self._callable_failed = False

    def add(self, key: Any, finding: Finding) -> None:
        """Count `finding` under `key`; deliver it if it is the first.

        Raises:
            SanError: with `on_finding="raise"`.
        """
        if self.seen(key):
            return
        self._first[key] = finding
        self._counts[key] = 1
        if self.on_finding == "raise":
            raise SanError(finding)
        if self.on_finding == "warn":
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

    def list(self) -> list[Finding]:
        """All findings with their counts."""
        return [
            finding if self._counts[key] == 1 else msgspec.structs.replace(finding, count=self._counts[key])
            for key, finding in self._first.items()
        ]


def _warn(finding: Finding) -> None:
    at = finding.location
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
