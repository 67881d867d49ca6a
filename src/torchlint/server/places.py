"""Where findings stand, as an editor counts: rows from 0, columns in the units that were agreed on, cells by their names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence

from lsprotocol import types as lsp
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from torchlint.files.parse import parse_source
from torchlint.files.reading import read_bytes
from torchlint.files.source import SourceError, is_notebook
from torchlint.findings import Edit, Location
from torchlint.server.documents import Open, rows_of


class Places:
    """Places in what is open, as it was at one moment, and in files on disk.

    Args:
        opened: what is open.
        codec: counts columns.
    """

    def __init__(self, opened: Iterable[Open], codec: PositionCodec):
        self._open = {one.path: one for one in opened}
        self._codec = codec
        self._disk: dict[str, list[str]] = {}

    def name(self, at: Location) -> str | None:
        """What the editor calls the document that a location is in; None for a cell that is not there any more."""
        path = os.path.abspath(at.filename)
        one = self._open.get(path)
        if one is None:
            return from_fs_path(path)
        if one.cells is None:
            return one.uri
        return one.cells[at.cell - 1] if at.cell is not None and 0 < at.cell <= len(one.cells) else None

    def range(self, at: Location) -> lsp.Range:
        """A location as a range. Where its end is not known, it goes to the end of the row; what lies outside the text is
        moved to its edge."""
        rows = self._rows(at)
        start = self._position(rows, at.row, at.column)
        if at.end_row is None and at.end_column is None:
            return lsp.Range(start, self._position(rows, at.row, len(_bare(rows, at.row)) + 1))
        end = self._position(rows, at.end_row or at.row, at.end_column or at.column)
        return lsp.Range(start, max(start, end, key=lambda one: (one.line, one.character)))

    def text_edit(self, edit: Edit) -> lsp.TextEdit:
        """An edit as the editor puts it in, with the line ends of the row that it goes to."""
        rows = self._rows(edit.location)
        row = rows[edit.location.row - 1] if 0 < edit.location.row <= len(rows) else ""
        end = row[len(row.rstrip("\r\n")):] or (rows[0][len(rows[0].rstrip("\r\n")):] if rows else "") or "\n"
        return lsp.TextEdit(self.range(edit.location), edit.content.replace("\n", end))

    def holds(self, path: str, digest: str) -> bool:
        """Whether a file holds, in the editor or else on disk, the text of this sha256."""
        one = self._open.get(path)
        try:
            raw = read_bytes(path) if one is None else one.raw
        except (OSError, ValueError):
            return False
        return digest in (hashlib.sha256(raw).hexdigest(), hashlib.sha256(b"\xef\xbb\xbf" + raw).hexdigest())

    def version(self, uri: str) -> int | None:
        """The version of an open document."""
        return next((one.versions[uri] for one in self._open.values() if uri in one.versions), None)

    def end(self, rows: Sequence[str], row: int) -> lsp.Position:
        """Where a row, counted from 0, begins; the end of the text for the one after the last."""
        if row < len(rows) or not rows:
            return lsp.Position(row, 0)
        last = rows[-1]
        if last.endswith(("\r", "\n")):
            return lsp.Position(len(rows), 0)
        return lsp.Position(len(rows) - 1, self._codec.client_num_units(last))

    def _rows(self, at: Location) -> list[str]:
        path = os.path.abspath(at.filename)
        one = self._open.get(path)
        if one is not None:
            return one.rows.get(self.name(at) or "", [])
        if path not in self._disk:
            try:
                raw = read_bytes(path)
                # Of a notebook that is not open, nobody sees the rows.
                self._disk[path] = [] if is_notebook(path) else rows_of("\n".join(parse_source(path, raw).lines()))
            except (OSError, ValueError, SourceError):
                self._disk[path] = []
        return self._disk[path]

    def _position(self, rows: Sequence[str], row: int, column: int) -> lsp.Position:
        if row > len(rows):
            return self.end(rows, len(rows))
        units = self._codec.client_num_units(_bare(rows, row)[: max(column, 1) - 1])
        return lsp.Position(max(row, 1) - 1, units)


def _bare(rows: Sequence[str], row: int) -> str:
    return rows[row - 1].rstrip("\r\n") if 0 < row <= len(rows) else ""
