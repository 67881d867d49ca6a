"""A table of a program's own that says what its ids are, as models of characters have: texts in a list, or by their ids.

Only lists and dicts of plain texts and numbers are read, so nothing of the program is called.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from torchsan.program.tokenizers import held
from torchsan.program.variables import variables
from torchsan.program.where import _USER, kind_of

_LONG = 64  # letters of a text at most
_MOST = 1 << 17  # texts
_DEEP, _WIDE = 3, 2000  # a frame's trainer, its data set, the table there; things looked at in all


class Letters:
    """Reads ids by a table, as a tokenizer does."""

    def __init__(self, texts: list[str]):
        self._texts = texts
        # Words are written with spaces between them, characters are not.
        self._between = "" if sum(len(text) == 1 for text in texts) > len(texts) / 2 else " "

    def decode(self, ids: list[int]) -> str:
        return self._between.join(self._texts[one] for one in ids)


def find(frame: FrameType | None, count: int) -> Letters | None:
    """The table of as many texts as there are classes that is nearest to a frame: in the variables of the program's functions that run, and
    in what they hold."""
    left = _WIDE
    while frame is not None and 2 < count <= _MOST:
        if kind_of(frame.f_code.co_filename) == _USER:
            now = [*variables(frame), *(frame.f_globals.get(name) for name in frame.f_code.co_names)]
            for _ in range(_DEEP):
                now, left = now[:left], max(left - len(now), 0)
                texts = next((found for thing in now if (found := _texts(thing, count)) is not None), None)
                if texts is not None:
                    return Letters(texts)
                now = [inside for thing in now for inside in held(thing)]
        frame = frame.f_back
    return None


def _texts(thing: Any, count: int) -> list[str] | None:
    """The texts by their ids, where this is a table of all of them."""
    if type(thing) not in (list, tuple, dict) or len(thing) != count:
        return None
    texts = list(thing)
    if type(thing) is dict:
        keys = texts
        if all(type(key) is int for key in keys):  # by id
            texts = [thing.get(at) for at in range(count)]
        else:  # ids by text
            back = {at: text for text, at in thing.items() if type(at) is int}
            texts = [back.get(at) for at in range(count)]
    if all(type(text) is str and len(text) <= _LONG for text in texts) and len(set(texts)) == count:
        return texts
    return None
