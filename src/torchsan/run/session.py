"""One `torchsan run`: starts the watch, tells findings as they come, sums up, writes the report.

A program is not over with its last line: Python then calls what was registered with `threading` (pools end so), waits
for threads, and calls the exit callbacks, the last one first (`multiprocessing` waits for child processes in one of
them). All of it is watched: the watch ends in an exit callback of its own, registered before the program could do so.
"""

from __future__ import annotations

import atexit
import signal
import sys
from typing import Any

import msgspec

from torchlint.findings import Finding
from torchsan.options import Options
from torchsan.own import os, threading
from torchsan.report import no_steps, printing
from torchsan.report.deliver import say
from torchsan.run.awaiting_torch import when_imported


class Session:
    """The watch over one program, from its start to the last word.

    Args:
        options: those of the watch; what is found is told here.
        report: a file to write all findings to, by its ending (see `reports.REPORTS`).
        quiet: tell findings, and nothing else.
        most: end the program after so many optimizer steps.
        live: show the run at the bottom of the terminal while it trains.
    """

    def __init__(
        self, options: Options, report: str | None = None, quiet: bool = False, most: int | None = None, live: bool = False
    ):
        self.base = os.getcwd()  # the program may change the folder
        self.report = None if report is None else os.path.join(self.base, report)
        self.shown_report = report
        self.quiet = quiet
        self.san: Any = None
        self.children: Any = None
        self.steps = 0
        self._most = most
        self._had_enough = False
        self._wants_live, self._live = live, None
        self._options = msgspec.structs.replace(options, on_finding=self._tell)
        self._pid = os.getpid()
        self._ending = self._terminated = False

    def begin(self) -> None:
        """Watch from the moment torch is there, until Python has shut the program down."""
        atexit.register(self._at_exit)
        when_imported("torch", self._watch)
        # Where one of several ranks dies, torchrun terminates the others at once: they must still say what they found.
        if os.environ.get("WORLD_SIZE", "1") != "1" and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, self._terminate)

    def _watch(self) -> None:
        from torchsan.run.child_processes import Children
        from torchsan.watcher import Watch

        self.san = Watch((), (), self._options)
        self.san.gathered.one_voice = True
        self.children = Children(self.san, self.base, self._most)
        self.san.start()
        self.children.begin()
        if self._most is not None:
            from torchsan.run.enough import end_after

            end_after(self._most, self.san)
        if self._wants_live:
            self._show()

    def _show(self) -> None:
        from torchsan.run.live import Live, why_not

        why = why_not(sys.stderr)
        if why is None:
            self._live = Live(self.san, self.base)
            self._live.begin()
        elif why:
            say(f"no live display: {why}")

    @property
    def findings(self) -> list[Finding]:
        """What was found so far."""
        return [] if self.san is None else self.san.findings

    @property
    def is_ours(self) -> bool:
        """False in a process that the program forked: that is not the one to sum up."""
        return os.getpid() == self._pid

    def main_ended(self, error: BaseException | None) -> None:
        """The last line of the program has run, or `error` came out of it: what that was about is added to it.

        It is not kept: it holds all that the program's functions had, which is let go of before exit callbacks run.
        """
        self._had_enough = _is_enough(error)
        if self._live is not None and error is not None:
            self._live.end()  # before Python prints the traceback
        if self.san is not None and self.is_ours and not self._had_enough:
            self.san.ends_with_program = error is None
            if error is not None:
                self.san.fail(error)

    def _at_exit(self) -> None:
        # Registered before our own callback, where something imported it before us: then it has not been called yet.
        children = sys.modules.get("multiprocessing.util")
        if children is not None and self.is_ours:
            children._exit_function()
        try:
            self._close()
        except KeyboardInterrupt:
            say("interrupted: the report is not complete")

    def _close(self) -> None:
        """Stop watching, sum up and write the report, unless the first rank does. Closing twice does nothing."""
        if self._ending or not self.is_ours:
            return
        self._ending = True
        if self._live is not None:
            self._live.end()
        if self.san is not None:
            self._stop()
        if self.san is None or not self.san.handed_over:
            self._sum_up()
        if signal.getsignal(signal.SIGTERM) == self._terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self._terminated:
            os.kill(self._pid, signal.SIGTERM)

    def _stop(self) -> None:
        self.san.stop()
        for left in self.children.end():
            self.san.gathered.join(left.findings, left.told)
            if left.rank is not None:
                self.san.series_of_ranks.setdefault(left.rank, left.series)
            self.steps = max(self.steps, left.steps)

    def _terminate(self, number: int, frame: Any) -> None:
        """SIGTERM: end as Python does, but not without the last words."""
        if not self.is_ours:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._terminated = True
        self._close()

    def _sum_up(self) -> None:
        findings = self.findings
        if self.san is not None and self.san.me is not None and self.san.me.rank > 0:
            self._have_own_report()
        written = self._write(findings)
        printing.flush()
        if self.quiet:
            return
        if self.san is None:
            say("the program did not import torch: nothing was watched")
            return
        steps = printing.counted(max(self.steps, self.san.steps), "optimizer step")
        if self.san.first_batch is not None:
            _show(self.san.first_batch)
        if not findings:
            seen = max(self.steps, self.san.steps) > 0
            say(f"nothing found in {steps}" + ("" if seen else f": {no_steps.why(self.san.ledger)}"))
        else:
            say(f"{printing.counted(len(findings), 'finding')} in {steps}")
            for line in printing.summary(findings, self.base):
                _out(f"  {line}\n")
            told = printing.context(self.base)
            paged = next((finding for finding in findings if told.explained_by(finding)), None)
            if paged is not None:
                _out(f"`{told.explained_by(paged)}` tells why {paged.name} is a mistake, and when it is none.\n")
        if self._had_enough:
            say(f"the program was ended there, as --steps {self._most} asked")
        if written:
            say(f"report: {self.shown_report}")

    def _tell(self, finding: Finding) -> None:
        printing.to_stderr(finding, self.base)

    def _have_own_report(self) -> None:
        """This rank is not the first of all, and nobody took up what it found: the first one writes its own report."""
        if self.report is not None and self.shown_report is not None:
            own = f".rank{self.san.me.rank}"
            self.report, self.shown_report = (
                f"{start}{own}{ending}" for start, ending in map(os.path.splitext, (self.report, self.shown_report))
            )

    def _write(self, findings: list[Finding]) -> bool:
        if self.report is None:
            return False
        from torchsan.report.reports import write

        steps = 0 if self.san is None else max(self.steps, self.san.steps)
        return write(self.report, self.san, findings, self.base, steps, self.shown_report)


def _out(text: str) -> None:
    try:
        sys.stderr.write(text)
    except (OSError, ValueError, AttributeError):
        pass


def _show(batch: Any) -> None:
    from torchsan.report.first_batch import tell

    try:
        tell(batch, sys.stderr)
    except (OSError, ValueError, AttributeError):
        pass


def _is_enough(error: BaseException | None) -> bool:
    """Whether the program was ended by `--steps`. What says so is loaded with torch alone."""
    enough = sys.modules.get("torchsan.run.enough")
    return enough is not None and isinstance(error, enough.Enough)
