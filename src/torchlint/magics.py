"""`%load_ext torchlint`, in a notebook:

    %%torchlint [OPTIONS]    in the first row of a cell: judge it, with the cells before it, and run it
    %torchlint [OPTIONS]     judge the cells that were run so far

Options are `--select`, `--ignore`, `--extend-select` and `--torch-version`, as for the command.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any

import msgspec

from torchlint.api import check
from torchlint.findings import Finding, Location
from torchlint.report.notebook import Shown
from torchlint.run.session import Findings

_OPTIONS = {"--select": "select", "--ignore": "ignore", "--extend-select": "extend_select", "--torch-version": "torch_version"}
_CELL = "--this-cell"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext torchlint` calls."""
    shell.register_magic_function(Magics(shell).judge, "line", "torchlint")
    if _first_row not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_first_row)


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext torchlint` calls."""
    shell.magics_manager.magics["line"].pop("torchlint", None)
    if _first_row in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_first_row)


def _first_row(lines: list[str]) -> list[str]:
    """A cell that begins with `%%torchlint`, as one whose first row judges it: it runs as any other, its rows are what they were."""
    if lines and lines[0].startswith("%%torchlint"):
        return [f"%torchlint {_CELL}{lines[0].removeprefix('%%torchlint')}", *lines[1:]]
    return lines


class Magics:
    """The magics of one notebook. Its cells are those that ran, in that order: `In[3]` is the third."""

    def __init__(self, shell: Any):
        self._shell = shell

    def judge(self, line: str) -> None:
        """%torchlint [--select RULES] [--ignore RULES] ...: judge the cells that ran; %%torchlint: judge this one, and run it."""
        from IPython.display import display

        cells = self._shell.history_manager.input_hist_raw[1:]
        options, this_cell = _options(line)
        # What ran again counts once, where it ran last.
        last = ["" if cell in cells[at:] else cell for at, cell in enumerate(cells, 1)]
        try:
            found = _judged(last, options)
        except ValueError as error:
            raise _usage(str(error)) from None
        told = [_in_cell(one) for one in found if not this_cell or one.location.cell == len(cells)]
        notes = [
            f"{place}not judged: {one.message}" for one in found.problems if not this_cell or one.cell in (None, len(cells))
            for place in [f"Cell In[{one.cell}]: " if one.cell else ""]
        ]
        if told or notes or not this_cell:
            display(Shown(told, "torchlint" if told else "torchlint: nothing found", [*notes, *found.warnings]))


def _judged(cells: list[str], options: dict[str, str]) -> Findings:
    """What is said of cells, as of a notebook in the working folder."""
    book = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
    return check(text=json.dumps(book), filename=os.path.abspath("notebook.ipynb"), cache=False, **options)


def _in_cell(finding: Finding) -> Finding:
    """A finding told as the notebook tells of cells."""

    def named(location: Location) -> Location:
        return location if location.cell is None else msgspec.structs.replace(location, filename=f"Cell In[{location.cell}]", cell=None)

    related = tuple(msgspec.structs.replace(one, location=named(one.location)) for one in finding.related)
    return msgspec.structs.replace(finding, location=named(finding.location), related=related)


def _options(line: str) -> tuple[dict[str, str], bool]:
    """`--select TL1 --ignore=TL202` as arguments of `torchlint.check`, and whether one cell is meant."""
    chosen, words = {}, shlex.split(line)
    this_cell = words[:1] == [_CELL]
    words = words[this_cell:]
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in _OPTIONS or not (equals or words):
            raise _usage(f"%torchlint {line}: there are {', '.join(f'{one} VALUE' for one in _OPTIONS)}")
        chosen[_OPTIONS[name]] = value if equals else words.pop(0)
    return chosen, this_cell


def _usage(text: str) -> Exception:
    """An error that IPython tells of in one line, without a traceback."""
    return sys.modules["IPython"].core.error.UsageError(text)
