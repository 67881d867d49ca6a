"""Cells of a notebook under a magic (`%%time`), as they were typed.

IPython runs what stands below the magic's row as a text of its own: rows count from there, and what `%%time` runs has no file at all.
Here such code becomes code of a file that holds the cell as it was typed, with the rows that its reader counts.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from torchsan.own import linecache, re

TIMED = "<timed "  # how IPython calls what %%time and %time run
_NAME = "<cell In[{}] as it was typed>"
_named: dict[tuple[int, str], str] = {}  # by number and text
_numbers: dict[str, int] = {}  # by the names above
_shifts: dict[str, tuple[str, int] | None] = {}  # by IPython's names of files: ours, and the rows above the text


def shell() -> Any:
    """The notebook's IPython; None outside of one."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def as_typed(code: CodeType) -> CodeType:
    """The code with the file and the rows of the cell that it was typed in; itself where it is not under a magic."""
    if "IPython" not in sys.modules:
        return code
    name = code.co_filename
    if name.startswith(TIMED):
        found = _timed(code)
    else:
        if name not in _shifts:
            _shifts[name] = _below_magic(name)
        found = _shifts[name]
    if found is None:
        return code
    name, above = found
    return code.replace(co_filename=name, co_firstlineno=code.co_firstlineno + above)


def rows_above(code: CodeType, typed: CodeType) -> int:
    """How many rows further down the typed code stands."""
    return typed.co_firstlineno - code.co_firstlineno


def name_of(filename: str) -> str | None:
    """What a notebook calls the cell whose code has this file name ("Cell In[3]"); None where it is none of a cell."""
    if filename in _numbers:
        return f"Cell In[{_numbers[filename]}]"
    try:
        told = shell().compile.format_code_name(filename)
    except AttributeError:  # no notebook, or an IPython that cannot tell
        return None
    return " ".join(told) if told else None


def _history() -> list[str]:
    """All inputs as they were typed, by number; the first one is none."""
    return list(getattr(getattr(shell(), "history_manager", None), "input_hist_raw", ()))


def _timed(code: CodeType) -> tuple[str, int] | None:
    """Where timed code was typed: the newest cell under %%time in which a function of that name begins on that row."""
    history = _history()
    for number in range(len(history) - 1, 0, -1):
        rows = history[number].splitlines()
        above = next((at for at, row in enumerate(rows) if row.startswith("%%time")), None)
        if above is None:
            continue
        at = above + code.co_firstlineno  # counted from 0: the row below the magic is the code's first
        if code.co_name.startswith("<") or (at < len(rows) and re.search(rf"@|\b{re.escape(code.co_name)}\b", rows[at])):
            return _file_of(number, history[number]), above + 1
    return None


def _below_magic(name: str) -> tuple[str, int] | None:
    """The same for text that has a file of IPython's and is the end of a cell."""
    told = name_of(name)
    text = "".join(linecache.getlines(name)).rstrip()
    history = _history()
    number = re.search(r"\d+", told) if told else None
    if number is None or not text:
        return None
    # What a magic runs may count as the next cell's.
    for at in (int(number[0]), *range(len(history) - 1, 0, -1)):
        whole = history[at].rstrip() if at < len(history) else ""
        if whole == text:
            return None
        if whole.startswith("%%") and whole.endswith(f"\n{text}"):
            return _file_of(at, history[at]), whole.count("\n") - text.count("\n")
    return None


def _file_of(number: int, text: str) -> str:
    """The name of a file, in Python's cache of lines, that holds a cell; what only IPython understands is put out of the way."""
    key = number, text
    if key not in _named:
        name = _named[key] = f"{_NAME.format(number)} {len(_named)}"  # a number may come again after a restart of the counting
        _numbers[name] = number
        rows = [f"# {row}\n" if row.startswith(("%", "!")) else f"{row}\n" for row in text.splitlines()]
        linecache.cache[name] = (len(text), None, rows, name)
    return _named[key]
