"""error: in a notebook, what ended a cell while a watch runs. Subject and `error`: the exception. `_where`: its line.

There a watch is begun in one cell and ended in another, so that no error leaves it. IPython has shown the traceback
already when it tells of a cell's end; the note that explains the error is printed below.
"""

from __future__ import annotations

import sys
from typing import Any

from torchsan.program.where import of_traceback
from torchsan.report.deliver import SanError, say
from torchsan.stream.events import happened
from torchsan.stream.patches import Patches


def install(patches: Patches) -> None:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.events.register("post_run_cell", _cell_ended)
        patches.on_undo(lambda: shell.events.unregister("post_run_cell", _cell_ended))


def _cell_ended(result: Any) -> None:
    error = result.error_in_exec
    if isinstance(error, Exception) and not isinstance(error, SanError):
        notes = len(getattr(error, "__notes__", ()))
        happened("error", error, error=error, _where=of_traceback(error.__traceback__))
        for note in getattr(error, "__notes__", ())[notes:]:
            say(note.removeprefix("torchsan: "))
