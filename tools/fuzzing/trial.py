"""What is expected of torchlint, whatever it is given: tried on one input after the other, in this process."""

from __future__ import annotations

import ast
import io
import os
import resource
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzzing.inputs import Input
from torchlint.catalogue.pages import catalogue
from torchlint.cli.problems import for_reports
from torchlint.files.garbage import collect_if_much, no_gc
from torchlint.files.parse import parse_source
from torchlint.files.source import Source, SourceError, is_notebook
from torchlint.findings import Finding
from torchlint.fixes.diff import diff
from torchlint.fixes.edits import EditError
from torchlint.fixes.fixer import Fixer
from torchlint.fixes.silence import silenced
from torchlint.report import FORMATS, Context, write
from torchlint.run.fresh_verdicts import Fresh
from torchlint.run.judge import Judge, Verdict
from torchlint.run.runner import Runner
from torchlint.settings.config import Config

_COMMANDS = ([], ["--fix", "--unsafe-fixes"], ["--add-noqa"], ["--diff"], ["-"], ["-", "--fix"], ["--statistics"], ["--unused-noqa"])
_SOURCE = Path(__file__).parents[2] / "src"
PROCESS_SECONDS = 12  # of CPU, start included


class Trial:
    """Tries inputs as the command does, with all rules, and counts.

    Args:
        folder: an empty folder that files are said to be in.
        limit: called with a step's name before each step, to begin its time anew.
    """

    def __init__(self, folder: Path, limit: Callable[[str], None] = lambda step: None):
        (folder / ".git").mkdir(exist_ok=True)  # imports are looked for no further up
        known = catalogue()
        self._folder = folder
        self._limit = limit
        self._runner = Runner(Config(folder), tuple(known), known)
        self._judge = Judge(self._runner.order)
        self._fixer = Fixer(self._runner, unsafe=True)
        self.counts: Counter = Counter()

    def look(self, item: Input) -> list[str]:
        """What is wrong with what torchlint makes of an input; nothing, if all is well."""
        path = str(self._folder / item.name)
        try:
            with no_gc(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(self._steps(item, path))
        except Exception:
            return [traceback.format_exc()]
        finally:
            collect_if_much()

    def _steps(self, item: Input, path: str) -> Iterator[str]:
        self._limit("judge")
        verdict = self._judge.content(path, item.raw)
        self._runner.fresh.put(path, verdict)
        self.counts["findings"] += len(verdict.findings)
        self.counts["inputs with findings"] += bool(verdict.findings)
        self.counts["inputs that do not parse"] += any(not one.note for one in verdict.problems) and not is_notebook(path)
        yield from _of_verdict(verdict, path)
        try:
            source = parse_source(path, item.raw)
        except SourceError:
            return
        self._limit("tell")
        self._runner.sources.add(source)
        visible = self._runner.visible(verdict.findings)
        yield from _of_places(visible, source, path)
        self._tell(item, visible, verdict)
        if any(self._fixer.applicable(finding) for finding in visible):
            self._limit("mend")
            yield from self._mended(item, path)
        own = [finding for finding in visible if finding.location.filename == path]
        if own:
            self._limit("silence")
            yield from self._silenced(item, path, own)

    def _tell(self, item: Input, findings: list[Finding], verdict: Verdict) -> None:
        context = Context(lines=self._runner.line, rules={rule.code: rule for rule in self._runner.order.rules},
                          **for_reports(verdict.problems), files=1)
        for form in ("full", tuple(FORMATS)[item.number % len(FORMATS)]) if findings else ("full",):
            write(form, findings[:200], io.StringIO(), context)
        for comment in self._runner.sources.unused(findings[0].location.filename if findings else ""):
            comment.edit(comment.words)

    def _mended(self, item: Input, path: str) -> Iterator[str]:
        mended = self._fixer.mend(path, item.raw)
        if mended is None:
            return
        self.counts["inputs mended"] += 1
        self.counts["findings mended"] += sum(mended.fixed.values())
        diff(mended, item.name)
        after = parse_source(path, mended.after)
        if not is_notebook(path):
            yield from _of_text(after.text, "mended")
        elif len(after.problems) > len(parse_source(path, item.raw).problems):
            yield "mended: a cell does not parse any more"
        self._limit("mend again")
        self._runner.fresh = Fresh()
        again = self._fixer.mend(path, mended.after)
        if again is not None:
            yield f"mended: a second run mends {dict(again.fixed)}"

    def _silenced(self, item: Input, path: str, findings: list[Finding]) -> Iterator[str]:
        try:
            after = silenced(path, item.raw, findings)
        except EditError:
            return  # said in one line, and nothing is written
        self.counts["inputs silenced"] += 1
        now = parse_source(path, after)
        before = parse_source(path, item.raw)
        if _tree(now.text) != _tree(before.text):
            yield "silenced: it is another program now"
        self._runner.sources.add(now)
        left = self._runner.visible(self._judge.source(now).findings)
        if [one for one in left if one.location.filename == path]:
            self.counts["inputs silenced in part"] += 1

    def whole(self, item: Input) -> list[str]:
        """What is wrong with the command itself, run as a process over a file that holds the input."""
        folder = self._folder / "whole"
        folder.mkdir(exist_ok=True)
        path = folder / item.name
        path.write_bytes(item.raw)
        options = list(_COMMANDS[item.number // 7 % len(_COMMANDS)])
        stdin = item.raw if "-" in options else b""
        if "-" in options:
            options += ["--stdin-filename", item.name]
        else:
            options.append(".")
        options += ["-j", "1", "--output-format", tuple(FORMATS)[item.number % len(FORMATS)], "--select", "ALL"]

        def bound() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (PROCESS_SECONDS, PROCESS_SECONDS))

        try:
            done = subprocess.run(
                [sys.executable, "-m", "torchlint", *options], cwd=folder, input=stdin, capture_output=True, preexec_fn=bound, timeout=180,
                env={**os.environ, "PYTHONPATH": str(_SOURCE)},
            )
        except subprocess.TimeoutExpired:
            return [f"torchlint {' '.join(options)}: hangs"]
        error = done.stderr.decode("utf-8", "replace")
        wrong = []
        if done.returncode not in (0, 1, 2):
            wrong.append(f"torchlint {' '.join(options)}: exit status {done.returncode}: {error[-300:]}")
        if "Traceback (most recent" in error or "internal error" in error:
            wrong.append(f"torchlint {' '.join(options)}: {error[-2000:]}")
        if [name for name in os.listdir(folder) if name.startswith(".torchlint-")]:
            wrong.append(f"torchlint {' '.join(options)}: leaves files behind")
        path.unlink()
        return wrong


def _of_verdict(verdict: Verdict, path: str) -> Iterator[str]:
    for problem in verdict.problems:
        if problem.internal:
            yield problem.message
        if "\n" in problem.message:
            yield f"a problem of several lines: {problem.message!r}"


def _of_places(findings: list[Finding], source: Source, path: str) -> Iterator[str]:
    lines = source.lines()
    for finding in findings:
        for at in (finding.location, *(item.location for item in finding.related)):
            if at.filename == path:
                row = source.row_of(at)
                if not 0 < row <= len(lines):
                    yield f"{finding.code} at row {at.row} (cell {at.cell}) of {len(lines)}"
                elif at.column < 1 or at.column > len(lines[row - 1]) + 1:
                    yield f"{finding.code} at column {at.column} of row {at.row}"


def _of_text(text: str, what: str) -> Iterator[str]:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield f"{what}: does not parse: {error}"


def _tree(text: str) -> str | None:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
