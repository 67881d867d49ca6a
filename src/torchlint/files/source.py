"""Reads a file as Python text: encodings, byte-order marks, line ends, notebooks."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from torchlint.findings import Finding, Location, Related

NOTEBOOK_SUFFIX = ".ipynb"



class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a file, or a part of it, could not be judged. `internal` marks our own fault rather than the file's; `note`, what
    is only said: the file was judged, though in part."""

    filename: str
    message: str
    row: int | None = None
    cell: int | None = None
    internal: bool = False
    note: bool = False


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


def unify_line_ends(text: str) -> str:
    r"""The text with `\r\n` and `\r` turned into `\n`: the rows stay what Python counts."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def describe(error: OSError) -> str:
    """What went wrong, in the system's words, without the number and the path."""
    return (error.strerror or str(error) or type(error).__name__).lower()
