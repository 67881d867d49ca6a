"""Matchers of somebody's own: loaded when the first file needs one, and kept from ending the run when they fail."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from types import ModuleType

from torchlint import matching
from torchlint.rules.base import Report, View
from torchlint.settings.matchers import Matcher


class Foreign:
    """One matcher. `failed` holds a line for what went wrong since it was last emptied."""

    def __init__(self, matcher: Matcher):
        self._matcher = matcher
        self._module: ModuleType | None = None
        self._broken = ""
        self.failed: list[str] = []

    @property
    def calls(self) -> frozenset[str]:
        """The names whose calls it wants to see."""
        names = getattr(self._load(), "CALLS", ())
        try:
            return frozenset(map(str, [names] if isinstance(names, str) else names))
        except TypeError:
            self._broken = f"CALLS is a {type(names).__name__}, not a set of names"
            return frozenset()

    def __call__(self, view: View) -> Iterator[Report]:
        module = self._load()
        if self._broken:
            self._say(self._broken)
            return
        try:
            for report in module.check(matching.View(view, self._matcher.code)) or ():
                if not isinstance(report, Report):
                    self._say(f"check gives a {type(report).__name__}, and not what view.finding makes")
                    return
                yield report
        except GeneratorExit:
            raise
        except Exception as error:
            self._say(_words(error))

    def _load(self) -> ModuleType | None:
        if self._module is None and not self._broken:
            try:
                self._module = _imported(self._matcher)
                wanted = getattr(self._module, "INTERFACE", None)
                if wanted != matching.INTERFACE:
                    have = "has no INTERFACE" if wanted is None else f"INTERFACE is {wanted!r}"
                    self._broken = f"{have}; this torchlint has version {matching.INTERFACE} of the interface"
                elif not callable(getattr(self._module, "check", None)):
                    self._broken = "has no function check(view)"
            except Exception as error:
                self._broken = f"cannot be imported: {_words(error)}"
        return self._module

    def _say(self, words: str) -> None:
        line = f"the matcher of TL{self._matcher.code:03d} ({self._matcher.title}) failed, so its findings are missing: {words}"
        if line not in self.failed:
            self.failed.append(line)


def _imported(matcher: Matcher) -> ModuleType:
    if matcher.module:
        return importlib.import_module(matcher.module)
    spec = importlib.util.spec_from_file_location(f"torchlint_matcher_{matcher.code}", matcher.file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{matcher.file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _words(error: Exception) -> str:
    try:
        words = " ".join(str(error).split())[:200]
    except Exception:
        words = ""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    row = f" at {at.tb_frame.f_code.co_filename}:{at.tb_lineno}" if at is not None else ""
    return f"{type(error).__name__}: {words}{row}"
