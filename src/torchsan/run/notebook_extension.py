"""`%load_ext torchsan`: whatever a notebook trains is watched, and each cell ends with what was found in it.

    %torchsan                     what was found so far
    %torchsan report [FILE]       everything, with source; to a file too (.html, .json, .sarif, .xml)
    %torchsan batch               what a language model was trained on in its first batch
    %torchsan stop | start        end the watch; begin a new one

torchlint's magics come with it (torchlint/magics.py).
"""

from __future__ import annotations

import shlex
import sys
from typing import Any

import msgspec

from torchlint.findings import Finding
from torchlint.report.notebook import Shown
from torchsan.options import OptionError, gather
from torchsan.report.deliver import say
from torchsan.run.awaiting_torch import when_imported

_loaded: dict[int, Extension] = {}  # by the shell's id


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext torchsan` calls."""
    if id(shell) not in _loaded:
        _loaded[id(shell)] = Extension(shell)
        _loaded[id(shell)].begin()


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext torchsan` calls."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        extension.end()


class Extension:
    """The watch over one notebook, and its magics."""

    def __init__(self, shell: Any):
        self._shell = shell
        self.san: Any = None
        self._told: set[tuple[str, str, int, str]] = set()

    def begin(self) -> None:
        """Watch from the moment torch is there."""
        self._shell.events.register("post_run_cell", self._cell_ended)
        self._shell.register_magic_function(self._torchsan, "line", "torchsan")
        self._shell.extension_manager.load_extension("torchlint")
        when_imported("torch", self._start)

    def end(self) -> None:
        """Stop watching, and take the magics away."""
        self._shell.events.unregister("post_run_cell", self._cell_ended)
        self._shell.magics_manager.magics["line"].pop("torchsan", None)
        self._shell.extension_manager.unload_extension("torchlint")
        self._stop()

    def _start(self) -> None:
        from torchsan.watcher import Watch

        try:
            options = msgspec.structs.replace(gather({}), on_finding="collect")
        except OptionError as error:
            say(f"not watched: {error}")
            return
        self._told = set()
        from torchsan.own import torch

        there = list(self._shell.user_ns.values())
        models = [thing for thing in there if isinstance(thing, torch.nn.Module)]
        self.san = Watch(models, [thing for thing in there if isinstance(thing, torch.optim.Optimizer)], options).start()

    def _stop(self) -> None:
        if self.san is not None:
            self.san.stop()

    def _cell_ended(self, result: Any) -> None:
        """Show what is new since the last cell. What goes wrong here is said, and ends no cell."""
        if self.san is None:
            return
        new = [one for one in self.san.findings if _identity(one) not in self._told]
        self._told.update(map(_identity, new))
        if new:
            self._show(new, "torchsan")

    def _show(self, findings: list[Finding], head: str) -> None:
        from IPython.display import display

        from torchsan.own import os
        from torchsan.report import printing

        display(Shown(printing.shortened(findings, os.getcwd()), head))

    def _torchsan(self, line: str) -> Any:
        """%torchsan [report [FILE] | batch | stop | start]"""
        word, *rest = shlex.split(line) or [""]
        if self.san is None and word != "start":
            say("torch was not imported yet: nothing is watched")
        elif word == "" and not rest:
            return self.san
        elif word == "report" and len(rest) <= 1:
            print(self.san.report(*rest))
        elif word == "batch" and not rest:
            return self.san.batch()
        elif word == "stop" and not rest:
            self._stop()
            self._cell_ended(None)
        elif word == "start" and not rest:
            self._stop()
            when_imported("torch", self._start)
        else:
            raise _usage(f"%torchsan {line}: there are report [FILE], batch, stop and start, or nothing for what was found")
        return None


def _identity(finding: Finding) -> tuple[str, str, int, str]:
    return finding.code, finding.location.filename, finding.location.row, finding.message.partition(" (")[0]


def _usage(text: str) -> Exception:
    """An error that IPython tells of in one line, without a traceback."""
    return sys.modules["IPython"].core.error.UsageError(text)
