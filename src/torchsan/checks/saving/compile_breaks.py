"""921, 922: graph breaks and recompilations, from the notes that torch.compile itself keeps of each compilation.

Read once, at the end, and only where the program has loaded the compiler. What stands behind a graph break is compiled
as a function of its own, whose name tells the line: torch_dynamo_resume_in_<function>_at_<line>.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

from torchsan.check import Check
from torchsan.own import re
from torchsan.program.where import _USER, Where, kind_of

_RESUMES = re.compile(r"^torch_dynamo_resume_in_(.+)_at_(\d+)$")
_LONG = 120  # of a guard, a message repeats so much
_BREAK = (
    "the graph of compiled `{function}` ends on this line, and another one begins behind it",
    "move the line out of what is compiled; in place of a number that is read from a tensor (`.item()`, `if x > 0`), "
    "keep the tensor: `torch.where`",
)
_AGAIN = (
    "`{function}` was compiled {count} times: that is torch's limit, and from then on it runs without being compiled",
    "pass tensors in the place of Python values that change, or mark what changes: `torch.compile(dynamic=True)`",
)


class Compilations(Check):
    """A compiled function falls to pieces, or is compiled again and again."""

    numbers = (921, 922)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.before: list[Any] = []

    def start(self) -> None:
        self.before = _notes()

    def finish(self) -> None:
        old = {id(note) for note in self.before}
        again: dict[tuple[str, int, str], list[str]] = defaultdict(list)
        for note in _notes():
            file, name = str(note.co_filename), str(note.co_name)
            if id(note) in old or kind_of(file) != _USER:
                continue
            resumed = _RESUMES.match(name)
            if resumed is not None and note.recompile_reason is None:
                self.found(921, _line(file, int(resumed[2])), words=_BREAK, function=resumed[1])
            elif resumed is None and note.recompile_reason is not None:
                again[file, note.co_firstlineno, name].append(str(note.recompile_reason))
        for (file, row, name), reasons in again.items():
            if len(reasons) + 1 >= _limit():
                fact = f"the guard that failed last: {' '.join(reasons[-1].split())[:_LONG]}"
                self.found(922, _line(file, row), words=_AGAIN, function=name, count=len(reasons) + 1, fact=fact)


def _notes() -> list[Any]:
    """The last compilations (torch keeps 64), oldest first."""
    utils = sys.modules.get("torch._dynamo.utils")
    get = getattr(utils, "get_compilation_metrics", None)
    return [] if get is None else list(get())


def _limit() -> int:
    config = sys.modules.get("torch._dynamo.config")
    return getattr(config, "recompile_limit", None) or getattr(config, "cache_size_limit", 8)


def _line(file: str, row: int) -> Where:
    return Where(compile("", file, "exec"), -1, row)


CHECKS = (Compilations,)
