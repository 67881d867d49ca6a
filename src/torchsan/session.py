"""One `torchsan run`: starts the watch, tells findings as they come, sums up, writes the report."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from torchlint.findings import Finding
from torchlint.report import clean
from torchsan import telling
from torchsan.awaiting import when_imported
from torchsan.deliver import say
from torchsan.options import Options

REPORTS = {".json": "json", ".sarif": "sarif", ".xml": "junit"}


class Session:
    """The watch over one program, from its start to the last word.

    Args:
        options: those of the watch; what is found is told here.
        report: a file to write all findings to, by its ending in one of REPORTS.
        quiet: tell findings, and nothing else.
    """

    def __init__(self, options: Options, report: str | None = None, quiet: bool = False):
        self.base = os.getcwd()  # the program may change the folder
        self.report = None if report is None else os.path.join(self.base, report)
        self.shown_report = report
        self.quiet = quiet
        # torchrun tells every process which one it is, long before the program makes a process group.
        self.rank = _number("RANK")
        self.has_ranks = _number("WORLD_SIZE") > 1
        if self.rank and self.report is not None:
            start, ending = os.path.splitext(self.report)
            self.report = f"{start}.rank{self.rank}{ending}"
        self.san: Any = None
        self._options = msgspec.structs.replace(options, on_finding=self._tell)
        self._pid = os.getpid()

    def begin(self) -> None:
        """Watch from the moment torch is there."""
        when_imported("torch", self._watch)

    def _watch(self) -> None:
        from torchsan.watcher import Watch

        self.san = Watch((), (), self._options).start()

    @property
    def findings(self) -> list[Finding]:
        """What was found so far."""
        return [] if self.san is None else [self._ranked(finding) for finding in self.san.findings]

    def _ranked(self, finding: Finding) -> Finding:
        if finding.ranks or not self.has_ranks:
            return finding
        return msgspec.structs.replace(finding, ranks=(self.rank,))

    @property
    def is_ours(self) -> bool:
        """False in a process that the program forked: that is not the one to sum up."""
        return os.getpid() == self._pid

    def end(self, error: BaseException | None = None) -> None:
        """Stop watching. What `error` was about is added to it."""
        if self.san is not None and self.is_ours:
            self.san.stop(error)

    def last_words(self) -> None:
        """Sum up and write the report."""
        if not self.is_ours:
            return
        findings = self.findings
        written = self._write(findings)
        _flush()
        if self.rank:
            # Most mistakes are made on all ranks alike: only the first one tells them at length.
            for line in telling.summary(findings, self.base):
                say(line)
            return
        if self.quiet:
            return
        if self.san is None:
            say("the program did not import torch: nothing was watched")
            return
        steps = telling.counted(self.san.step, "optimizer step")
        if not findings:
            say(f"nothing found in {steps}")
        else:
            say(f"{telling.counted(len(findings), 'finding')} in {steps}")
            for line in telling.summary(findings, self.base):
                _out(f"  {line}\n")
            paged = next((finding for finding in findings if finding.url), None)
            if paged is not None:
                _out(f"`torchlint explain {paged.code}` tells why {paged.name} is a mistake, and when it is none.\n")
        if written:
            say(f"report: {self.shown_report}")

    def _tell(self, finding: Finding) -> None:
        stream = sys.stderr
        if stream is None or self.rank:
            return
        _flush()
        try:
            if stream.isatty():
                stream.write("\r\x1b[K")  # off the line of a progress bar, which draws itself anew
            telling.tell([self._ranked(finding)], stream, self.base)
            stream.flush()
        except (OSError, ValueError):
            pass  # standard error is closed: the report still has it

    def _write(self, findings: list[Finding]) -> bool:
        if self.report is None:
            return False
        from torchlint import report
        from torchsan import wording

        problems = [] if self.san is None else [f"{name} was switched off: {why}" for name, why in self.san.off.items()]
        context = telling.context(
            self.base, rules={rule.code: rule for rule in wording.rules()}, problems=[clean(line) for line in problems],
        )
        try:
            with open(self.report, "w", encoding="utf-8") as file:
                kind = REPORTS[os.path.splitext(self.report)[1].lower()]
                report.write(kind, telling.shortened(findings, self.base), file, context)
        except OSError as error:
            say(f"{self.shown_report} cannot be written: {(error.strerror or str(error)).lower()}")
            return False
        return True


def _number(variable: str) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else 0


def _flush() -> None:
    """What the program printed before stands before what we say."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        pass


def _out(text: str) -> None:
    try:
        sys.stderr.write(text)
    except (OSError, ValueError, AttributeError):
        pass
