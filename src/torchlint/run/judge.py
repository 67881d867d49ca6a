"""Judges files one by one, in this process: reads, asks the engine, and turns every failure into one clear line."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from torchlint.catalogue.pages import Rule
from torchlint.files.disk import Disk
from torchlint.files.not_python import reason
from torchlint.files.parse import parse_source
from torchlint.files.source import Problem, Source, SourceError, describe
from torchlint.findings import Finding
from torchlint.settings.matchers import Matcher
from torchlint.sieve.glimpse import Glimpse

if TYPE_CHECKING:
    from torchlint.engine import Engine, Judged
    from torchlint.files.modules import Modules

# Replaced by tests; a string, so that workers started afresh find it too.
ENGINE_VARIABLE = "TORCHLINT_ENGINE"


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of one file: the sha256 of its content, the findings (placed in the file as people see it), what
    could not be judged, and the files, folders and questions (`modules.py`) it depends on with the sha256 of their content or
    answer, or None where nothing was there. Of some of the files, `glimpses` say what alone was looked at.
    """

    digest: str
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    depends: dict[str, str | None] = {}
    glimpses: dict[str, Glimpse] = {}

    @property
    def lasting(self) -> bool:
        """Whether the same file would give the same verdict again; not so after a failure of ours."""
        return bool(self.digest) and not any(problem.internal for problem in self.problems)


class Order(msgspec.Struct, frozen=True):
    """What to judge by: everything an engine is made from."""

    rules: tuple[Rule, ...]
    torch_version: tuple[int, int] | None = None
    roots: tuple[str, ...] = ()
    matchers: tuple[Matcher, ...] = ()
    strict_tests: bool = False
    scout: bool = True
    summaries: bool = True
    releases: tuple[tuple[str, tuple[int, int]], ...] = ()
    newest: tuple[tuple[str, tuple[int, int]], ...] = ()


class Judge:
    """Judges files by one engine, which is made when the first file needs it.

    Args:
        order: what to judge by.
        make: makes the engine.
    """

    def __init__(self, order: Order, make: Callable[[Order], Engine] | None = None):
        self._order = order
        self._make = make or make_engine
        self._engine: Engine | None = None

    def look_again(self, digest: Callable[[str], str | None]) -> None:
        """Forgets what does not hold any more, where files may have changed since the last one was judged.

        Args:
            digest: the sha256 of files as they are now.
        """
        if self._engine is not None:
            self._engine.look_again(digest)

    def file(self, path: str) -> Verdict:
        """The verdict on the file at `path`."""
        return self.at(path, Disk())

    def at(self, path: str, disk: Disk) -> Verdict:
        """The same, of what a disk holds there."""
        try:
            raw = disk.read(path)
        except OSError as error:
            return Verdict("", problems=(Problem(path, f"cannot be read: {describe(error)}"),))
        return self.content(path, raw)

    def content(self, path: str, raw: bytes) -> Verdict:
        """The verdict on `raw`, taken for the content of the file at `path`."""
        digest = hashlib.sha256(raw).hexdigest()
        try:
            source = parse_source(path, raw)
        except SourceError as error:
            return Verdict(digest, problems=(error.problem,))
        return self.source(source, digest)

    def source(self, source: Source, digest: str = "") -> Verdict:
        """The verdict on a file that was read already."""
        if not source.text.strip():
            return Verdict(digest, problems=source.problems)
        try:
            if self._engine is None:
                self._engine = self._make(self._order)
            with warnings.catch_warnings():
                # Python's own complaints about the judged code ("invalid escape sequence") are not ours to pass on.
                warnings.simplefilter("ignore")
                judged = self._engine.check(source.filename, source.text)
        except SyntaxError as error:
            return Verdict(digest, problems=(*source.problems, _syntax_problem(source, error)))
        except Exception as error:  # whatever it is, it costs this file only
            if os.environ.get("TORCHLINT_DEBUG"):
                raise
            # Not str(error), which may fail, too: a KeyError shows its key, whatever that is.
            import traceback

            what = traceback.format_exception_only(error)[0].split("\n")[0][:200].rstrip(": ")
            message = f"internal error, please report it ({what}); TORCHLINT_DEBUG=1 shows where"
            return Verdict(digest, problems=(*source.problems, Problem(source.filename, message, internal=True)))
        digests = {**judged.depends, source.filename: digest}
        findings = tuple(source.place_finding(finding).made_for(digests) for finding in judged.findings)
        failed = tuple(Problem(source.filename, words, internal=True) for words in judged.failed)
        return Verdict(digest, findings, (*source.problems, *failed, *_in_part(source, judged)), judged.depends, judged.glimpses)


def _syntax_problem(source: Source, error: SyntaxError) -> Problem:
    row, cell = _place(source, error.lineno or 1)
    why = reason(error, source.text.split("\n"))
    return Problem(source.filename, f"does not parse: {why}", row, cell)


def _in_part(source: Source, judged: Judged) -> Iterator[Problem]:
    """What is said of a file that was too large to be judged whole."""
    if judged.in_part is not None:
        row, message = judged.in_part
        row, cell = _place(source, row)
        yield Problem(source.filename, message, row, cell, note=True)


def _place(source: Source, row: int) -> tuple[int, int | None]:
    """A row of the text, and its cell, as people see them."""
    if not source.rows:
        return row, None
    cell, row = source.rows[min(row, len(source.rows)) - 1]
    return row, cell


def make_engine(order: Order, modules: Modules | None = None) -> Engine:
    """The engine for an order, loaded only now: this is where libcst comes in. What it reads it finds by `modules`."""
    name = os.environ.get(ENGINE_VARIABLE)
    if name:
        import importlib

        module, _, attribute = name.partition(":")
        return getattr(importlib.import_module(module), attribute)(order.rules, order.torch_version, order.roots)
    from torchlint.engine import Engine

    return Engine(
        order.rules, order.torch_version, order.roots, modules=modules, matchers=order.matchers,
        strict_tests=order.strict_tests, scout=order.scout, summaries=order.summaries, releases=order.releases,
        newest=order.newest,
    )
