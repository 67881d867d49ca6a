"""`%load_ext torchsan`: whatever a notebook trains is watched, and each cell ends with what was found in it.

    %torchsan                     what was found so far
    %torchsan report [FILE]       everything, with source; to a file too (.html, .json, .sarif, .xml)
    %torchsan batch               what a language model was trained on in its first batch
    %torchsan stop | start        end the watch; begin a new one
    %torchlint [OPTIONS]          judge the cells that were run so far
    %%torchlint [OPTIONS]         judge this cell, with those before it, and run it
"""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import msgspec

from torchlint.findings import Finding
from torchlint.report.notebook import as_lines, as_table
from torchsan.options import OptionError, gather
from torchsan.report.deliver import say
from torchsan.run.awaiting_torch import when_imported

_FOR_TORCHLINT = {"--select": "select", "--ignore": "ignore", "--extend-select": "extend_select", "--torch-version": "torch_version"}
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


class CellFindings:
    """Findings as a notebook shows them: a table, or a line each where only text can be shown."""

    def __init__(self, findings: list[Finding], head: str):
        self._findings, self._head = findings, head

    def __repr__(self) -> str:
        return "\n".join(filter(None, (self._head, as_lines(self._findings))))

    def _repr_html_(self) -> str:
        return as_table(self._findings, self._head)


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
        self._shell.register_magic_function(self._torchlint, "line_cell", "torchlint")
        when_imported("torch", self._start)

    def end(self) -> None:
        """Stop watching, and take the magics away."""
        self._shell.events.unregister("post_run_cell", self._cell_ended)
        for kind, name in (("line", "torchsan"), ("line", "torchlint"), ("cell", "torchlint")):
            self._shell.magics_manager.magics[kind].pop(name, None)
        self._stop()

    def _start(self) -> None:
        from torchsan.watcher import Watch

        try:
            options = msgspec.structs.replace(gather({}), on_finding="collect")
        except OptionError as error:
            say(f"not watched: {error}")
            return
        self._told = set()
        self.san = Watch((), (), options).start()

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

        display(CellFindings(printing.shortened(findings, os.getcwd()), head))

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

    def _torchlint(self, line: str, cell: str | None = None) -> Any:
        """%torchlint [--select RULES] [--ignore RULES] ...: judge the cells so far; %%torchlint: this one, and run it."""
        import torchlint

        chosen = _options(line)
        cells = [text for text in self._shell.history_manager.input_hist_raw]
        if cell is not None and not (cells and cells[-1].rstrip().endswith(cell.rstrip())):
            cells.append(f"%%torchlint {line}\n{cell}")  # a front end that keeps no history
        book = {"cells": [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in cells], "metadata": {},
                "nbformat": 4, "nbformat_minor": 5}
        try:
            found = torchlint.check(text=json.dumps(book).encode(), filename="notebook.ipynb", **chosen)
        except ValueError as error:
            raise _usage(str(error)) from None
        last = len(cells)
        found[:] = [_in_cell(one) for one in found if cell is None or one.location.cell == last]
        found.problems[:] = [one for one in found.problems if cell is None or one.cell == last] if cell is not None else found.problems
        if cell is None:
            return found
        if found:
            self._show(list(found), "torchlint")
        self._shell.run_cell(cell, store_history=False)
        return None


def _identity(finding: Finding) -> tuple[str, str, int, str]:
    return finding.code, finding.location.filename, finding.location.row, finding.message.partition(" (")[0]


def _in_cell(finding: Finding) -> Finding:
    """A finding told as the notebook tells of cells. The first input is none, so that the numbers of cells are one higher."""

    def named(location: Any) -> Any:
        if location.cell is None:
            return location
        return msgspec.structs.replace(location, filename=f"Cell In[{location.cell - 1}]", cell=None)

    related = tuple(msgspec.structs.replace(one, location=named(one.location)) for one in finding.related)
    return msgspec.structs.replace(finding, location=named(finding.location), related=related)


def _options(line: str) -> dict[str, str]:
    """`--select TL1 --ignore=TL202` as arguments of `torchlint.check`."""
    chosen, words = {}, shlex.split(line)
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in _FOR_TORCHLINT or not (equals or words):
            raise _usage(f"%torchlint {line}: there are {', '.join(f'{one} VALUE' for one in _FOR_TORCHLINT)}")
        chosen[_FOR_TORCHLINT[name]] = value if equals else words.pop(0)
    return chosen


def _usage(text: str) -> Exception:
    """An error that IPython tells of in one line, without a traceback."""
    return sys.modules["IPython"].core.error.UsageError(text)
