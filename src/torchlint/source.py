"""Reads a file as Python text: encodings, byte-order marks, line ends, notebooks."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable

import msgspec

from torchlint.findings import Finding, Location, Related
from torchlint.limits import too_much

NOTEBOOK_SUFFIX = ".ipynb"

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=]")


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a file, or a part of it, could not be judged. `internal` marks our own fault rather than the file's."""

    filename: str
    message: str
    row: int | None = None
    cell: int | None = None
    internal: bool = False


class SourceError(Exception):
    """A file that cannot be read as Python text; `problem` says why."""

    def __init__(self, problem: Problem):
        super().__init__(problem.message)
        self.problem = problem


class Source(msgspec.Struct, frozen=True):
    r"""One file as Python text with `\n` line ends.

    `rows` is None for a module. For a notebook it holds, for every row of `text`, the cell and the row within it.
    `problems` are the cells that had to be left out; `shown` is the text as it stood in the cells, row by row.
    """

    filename: str
    text: str
    rows: tuple[tuple[int, int], ...] | None = None
    problems: tuple[Problem, ...] = ()
    shown: str | None = None

    def lines(self) -> list[str]:
        r"""The rows as people see them, without line ends. Only `\n` ends a row, as for Python itself."""
        return (self.text if self.shown is None else self.shown).split("\n")

    def place(self, location: Location) -> Location:
        """Where a location of `text` stands in the file as people see it; one in another file comes back as it is."""
        if self.rows is None or location.filename != self.filename or not 0 < location.row <= len(self.rows):
            return location
        cell, row = self.rows[location.row - 1]
        end_row = location.end_row
        if end_row is not None:
            end_row = self.rows[min(end_row, len(self.rows)) - 1][1]
        return msgspec.structs.replace(location, cell=cell, row=row, end_row=end_row)

    def row_of(self, location: Location) -> int:
        """The row of `text` that a location made by `place` stands on; 0 where there is none."""
        if self.rows is None:
            return location.row
        try:
            return self.rows.index((location.cell, location.row)) + 1
        except ValueError:
            return 0

    def place_finding(self, finding: Finding) -> Finding:
        """The finding with all its locations placed."""
        if self.rows is None:
            return finding
        return map_locations(finding, self.place)


def map_locations(finding: Finding, change: Callable[[Location], Location]) -> Finding:
    """The finding with its own location, the related ones and those of its fix changed."""
    related = tuple(Related(change(item.location), item.message) for item in finding.related)
    fix = finding.fix
    if fix is not None:
        edits = tuple(msgspec.structs.replace(edit, location=change(edit.location)) for edit in fix.edits)
        fix = msgspec.structs.replace(fix, edits=edits)
    return msgspec.structs.replace(finding, location=change(finding.location), related=related, fix=fix)


def is_notebook(filename: str) -> bool:
    """Whether the name is that of a Jupyter notebook."""
    return filename.endswith(NOTEBOOK_SUFFIX)


def parse_source(filename: str, raw: bytes) -> Source:
    """The content of a file as Python text; what it is, module or notebook, follows from the name.

    Raises:
        SourceError: it is not text in the encoding it declares, holds NUL bytes, is too large, or is a broken notebook.
    """
    if is_notebook(filename):
        from torchlint.notebook import parse_notebook

        source = parse_notebook(filename, raw)
    else:
        source = Source(filename, _decode(filename, raw))
    why = too_much(source.text)
    if why is not None:
        raise SourceError(Problem(filename, why))
    return source


def _decode(filename: str, raw: bytes) -> str:
    """The text of a module (PEP 263), with `\\n` line ends and without a byte-order mark.

    Raises:
        SourceError: it cannot be decoded or holds NUL bytes.
    """
    encoding = "utf-8"
    if raw.startswith(b"\xef\xbb\xbf") or any(_CODING.match(line) for line in raw[:1000].split(b"\n", 2)[:2]):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        except SyntaxError as error:
            raise SourceError(Problem(filename, f"cannot be decoded: {error.msg[:200]}", 1)) from None
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise SourceError(Problem(filename, "is UTF-16, which Python does not read as source", 1)) from None
        what = f"byte 0x{raw[error.start]:02x} is not {encoding} (declare the encoding, or save it as UTF-8)"
        raise SourceError(Problem(filename, what, row)) from None
    except (LookupError, ValueError) as error:
        raise SourceError(Problem(filename, f"cannot be decoded: {' '.join(str(error).split())[:200]}", 1)) from None
    if "\0" in text:
        row = text.count("\n", 0, text.index("\0")) + 1
        raise SourceError(Problem(filename, "holds a NUL byte; this is not Python source", row))
    return unify_line_ends(text)  # a second mark is an error, as for Python


def unify_line_ends(text: str) -> str:
    r"""The text with `\r\n` and `\r` turned into `\n`: the rows stay what Python counts."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def describe(error: OSError) -> str:
    """What went wrong, in the system's words, without the number and the path."""
    return (error.strerror or str(error) or type(error).__name__).lower()
