"""Edits put into a file's bytes: encoding, byte-order mark, line ends and everything else stay as they are."""

from __future__ import annotations

import io
import json
import re
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from json.decoder import scanstring

from torchlint.findings import Edit, Location
from torchlint.source import is_notebook, unify_line_ends

_ENDS = re.compile(r"\r\n|\r|\n")
_SPACE = re.compile(r"[ \t\r\n]*")


class EditError(Exception):
    """Edits that cannot be put into a file; the text says why."""


def apply(filename: str, raw: bytes, edits: Sequence[Edit]) -> bytes:
    """The content of a file with edits put in. They must not overlap.

    Raises:
        EditError: an edit lies outside the text, or another text stands there than it replaces; or the result cannot be
            written in the file's encoding.
    """
    if is_notebook(filename):
        try:
            return _in_notebook(raw, edits)
        except (ValueError, LookupError, RecursionError) as error:  # parts of it that nobody read so far are broken
            raise EditError(f"the notebook is broken: {str(error).splitlines()[0]}") from None
    encoding = _encoding(raw)
    text = raw.decode(encoding)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    changed = mark + _in_text(text[len(mark):], edits)
    try:
        done = changed.encode(encoding)
        # UTF-7 has several forms of one text: written anew, the declaration of it may be none any more.
        if _encoding(done) == encoding and done.decode(encoding) == changed:
            return done
    except (UnicodeError, SyntaxError):
        pass
    raise EditError(f"the change cannot be written as {encoding}")


def _encoding(raw: bytes) -> str:
    """The encoding that a module declares; utf-8-sig is taken for utf-8, so that the mark is part of the text."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _in_text(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits put in; what they bring has the line ends of the row that it goes to."""
    starts = [0, *(match.end() for match in _ENDS.finditer(text))]
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: span(edit.location)):
        first, last = span(edit.location)
        begin, stop = _offset(text, starts, *first), _offset(text, starts, *last)
        if begin < done or stop < begin:
            raise EditError("edits overlap")
        _expect(text[begin:stop], edit)
        pieces += (text[done:begin], edit.content.replace("\n", _line_end(text, begin)))
        done = stop
    return "".join(pieces) + text[done:]


def _expect(text: str, edit: Edit) -> None:
    """Raises an EditError where an edit would replace a text that it was not made for."""
    if unify_line_ends(text) != edit.replaces:
        raise EditError("another text stands there than the edit was made for")


def span(at: Location) -> tuple[tuple[int, int], tuple[int, int]]:
    """Start and end of a location as (row, column) pairs."""
    row, column = at.end_row or at.row, at.end_column or at.column
    return (at.row, at.column), (row, column)


def _offset(text: str, starts: Sequence[int], row: int, column: int) -> int:
    at = starts[row - 1] + column - 1 if 0 < row <= len(starts) else len(text) + 1
    if at > len(text) or (row < len(starts) and at >= starts[row]):
        raise EditError("an edit lies outside the text")
    return at


def _line_end(text: str, at: int) -> str:
    """The line end of the row that holds an offset; that of the first row where it has none."""
    found = _ENDS.search(text, at) or _ENDS.search(text)
    return found[0] if found else "\n"


def _in_notebook(raw: bytes, edits: Sequence[Edit]) -> bytes:
    """The notebook with the edits put into its cells. Only the strings of changed rows are written anew: everything else,
    outputs and layout too, stays byte by byte."""
    text = raw.decode("utf-8")
    cells = list(_sources(text))
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        by_cell.setdefault(edit.location.cell or 0, []).append(edit)
    changes: list[tuple[int, int, str]] = []
    for number, some in by_cell.items():
        if not 0 < number <= len(cells) or cells[number - 1] is None:
            raise EditError("an edit lies outside the cells")
        changes += _in_cell(text, cells[number - 1], some)
    for begin, stop, new in sorted(changes, reverse=True):
        text = text[:begin] + new + text[stop:]
    return text.encode("utf-8")


def _in_cell(text: str, strings: list[tuple[int, int, str]], edits: Sequence[Edit]) -> Iterator[tuple[int, int, str]]:
    """What to write in place of which stretch of the notebook, so that the strings of one cell hold the edits."""
    given = "".join(value for _, _, value in strings)
    code = given
    starts = [0, *(match.end() for match in _ENDS.finditer(code))]
    ends, total = [], 0
    for _, _, value in strings:
        total += len(value)
        ends.append(total)
    new = [value for _, _, value in strings]
    for edit in sorted(edits, key=lambda edit: span(edit.location), reverse=True):
        first, last = span(edit.location)
        begin, stop = _offset(code, starts, *first), _offset(code, starts, *last)
        _expect(code[begin:stop], edit)
        which = min(bisect_left(ends, begin + 1), len(ends) - 1)
        offset = begin - (ends[which - 1] if which else 0)
        left = stop - begin
        content = edit.content.replace("\n", _line_end(code, begin))
        while True:
            taken = min(left, len(strings[which][2]) - offset)
            new[which] = new[which][:offset] + content + new[which][offset + taken :]
            left -= taken
            if not left:
                break
            content, offset, which = "", 0, which + 1
    for (begin, stop, value), wanted in zip(strings, new):
        if wanted != value:
            yield begin, stop, json.dumps(wanted, ensure_ascii=text[begin:stop].isascii())


def _sources(text: str) -> Iterator[list[tuple[int, int, str]] | None]:
    """For each cell of a notebook, where in the JSON the strings of its source stand, and what they say."""
    top = dict(_members(text, _space(text, int(text.startswith("\ufeff")))))
    lists = [top["cells"]] if "cells" in top else [
        dict(_members(text, at))["cells"] for at in _items(text, top["worksheets"])
    ]
    for at in (item for start in lists for item in _items(text, start)):
        cell = dict(_members(text, at))
        start = cell.get("source", cell.get("input"))
        if start is None:
            yield None
        else:
            yield [_string(text, one) for one in (_items(text, start) if text[start] == "[" else [start])]


def _string(text: str, at: int) -> tuple[int, int, str]:
    value, end = scanstring(text, at + 1)
    return at, end, value


def _space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()


_skip = json.JSONDecoder().raw_decode


def _items(text: str, at: int) -> Iterator[int]:
    """Where the items of the JSON array at `at` begin."""
    at = _space(text, at + 1)
    while text[at] != "]":
        yield at
        at = _space(text, _skip(text, at)[1])
        if text[at] == ",":
            at = _space(text, at + 1)


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The keys of the JSON object at `at`, with where their values begin."""
    at = _space(text, at + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1)
        at = _space(text, _space(text, at) + 1)
        yield key, at
        at = _space(text, _skip(text, at)[1])
        if text[at] == ",":
            at = _space(text, at + 1)
