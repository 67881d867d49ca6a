"""The documents that an editor has open, as it has them: with its own line ends, and notebooks as cells."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec, TextDocument, Workspace

from torchlint.files.disk import as_saved
from torchlint.files.source import is_notebook

_PYTHON = (".py", ".pyw")


def rows_of(text: str) -> list[str]:
    """The rows of a text with their line ends. Only what ends a row for Python and for editors does: a form feed does not."""
    return list(io.StringIO(text, newline=""))


def offset_of(rows: Sequence[str], at: lsp.Position, codec: PositionCodec) -> int:
    """Where a position lies in the text of these rows, counted in characters; past a row's end is at its end."""
    if at.line >= len(rows):
        return sum(map(len, rows))
    units, before = 0, sum(map(len, rows[: at.line]))
    row = rows[at.line].rstrip("\r\n")
    for count, char in enumerate(row):
        if units >= at.character:
            return before + count
        units += codec.client_num_units(char)
    return before + len(row)


class Document(TextDocument):
    """A text that is open. pygls splits texts where Python's `splitlines` does, which is not where editors do."""

    @property
    def lines(self) -> Sequence[str]:
        return tuple(rows_of(self.source))

    def apply_change(self, change: lsp.TextDocumentContentChangeEvent) -> None:
        if isinstance(change, lsp.TextDocumentContentChangeWholeDocument):
            self._source = change.text
            return
        text, rows = self.source, self.lines
        start, end = (offset_of(rows, at, self.position_codec) for at in (change.range.start, change.range.end))
        self._source = text[:start] + change.text + text[end:]


class Documents(Workspace):
    """What is open."""

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return Document(doc_uri, source, version, language_id, position_codec=self.position_codec)


@dataclass(frozen=True)
class Open:
    """A document or a notebook at one moment.

    `uri` is what the editor calls it, `path` where it is, or would be; `raw` is what saving it would write; `rows` are the
    rows of the text, by the name of the document (of each cell, for a notebook), `versions` their versions; `cells` are the
    names of the cells, in order; none for a text.
    """

    uri: str
    path: str
    raw: bytes
    rows: dict[str, list[str]]
    versions: dict[str, int | None]
    cells: tuple[str, ...] | None = None
    version: int | None = None

    def same(self, other: Open | None) -> bool:
        """Whether another moment's text is the same."""
        return other is not None and (self.versions, self.cells, self.raw) == (other.versions, other.cells, other.raw)


def open_text(document: TextDocument, folder: str) -> Open | None:
    """A text that is open, as it is now; None where it is not one of Python in a file, or for a file.

    Args:
        document: the text.
        folder: where a text without a file would be saved.
    """
    path = path_of(document.uri, folder)
    if path is None or document.language_id != "python" and not path.endswith(_PYTHON) or is_notebook(path):
        return None
    text = document.source
    return Open(
        document.uri, path, as_saved(text), {document.uri: rows_of(text)}, {document.uri: document.version},
        version=document.version,
    )


def open_notebook(notebook: lsp.NotebookDocument, workspace: Workspace, folder: str) -> Open | None:
    """A notebook that is open, as it is now; None where it has no place."""
    path = path_of(notebook.uri, folder)
    if path is None:
        return None
    names = tuple(cell.document for cell in notebook.cells)
    documents = [workspace.get_text_document(name) for name in names]
    texts = [document.source for document in documents]
    cells = [
        {"cell_type": _kind(cell, document), "source": text} for cell, document, text in zip(notebook.cells, documents, texts)
    ]
    return Open(
        notebook.uri, path if is_notebook(path) else path + ".ipynb", json.dumps({"cells": cells}).encode(),
        {name: rows_of(text) for name, text in zip(names, texts)}, {name: one.version for name, one in zip(names, documents)},
        names, notebook.version,
    )


def _kind(cell: lsp.NotebookCell, document: TextDocument) -> str:
    """What a cell is for us: one of another language counts, but is not judged."""
    return "code" if cell.kind == lsp.NotebookCellKind.Code and document.language_id in ("python", None, "") else "markdown"


def path_of(uri: str, folder: str) -> str | None:
    """The path of what an editor has open; None for what is no file and will be none, as a side of a diff."""
    scheme, _, name = uri.partition(":")
    if scheme == "untitled":
        name = os.path.basename(name) or "untitled"
        return os.path.join(folder, name if name.endswith((*_PYTHON, ".ipynb")) else name + ".py")
    if scheme != "file":
        return None
    path = to_fs_path(uri)
    return os.path.abspath(path) if path else None


def deepest(path: str, folders: Iterable[str]) -> str | None:
    """The innermost of some folders that a file is in."""
    around = [folder for folder in folders if path.startswith(os.path.join(folder, ""))]
    return max(around, key=len, default=None)
