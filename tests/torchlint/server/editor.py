"""An editor for the tests: pygls's client, the server in a process of its own, and buffers that edits are put into."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Union

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from tests.torchlint.support import ROOT
from torchlint.server.documents import offset_of, rows_of

CLIENTS = Path(__file__).parent / "clients"
_PATIENCE = 60  # seconds, for what never comes


class Editor:
    """Opens, types, saves and asks. `diagnostics` has what was told last of each document, `messages` what was shown.

    Args:
        folders: those that are worked in.
        client: whose abilities it has: a file in clients/.
        options: its initializationOptions.
        settings: what it answers when it is asked for settings.
        refuses: it answers nothing that it is asked.
    """

    def __init__(self, *folders, client="vscode", options=None, settings=None, refuses=False):
        self.folders = [Path(folder) for folder in folders]
        self.abilities = json.loads((CLIENTS / f"{client}.json").read_text(encoding="utf-8"))
        self.options, self.settings = options, settings
        self.diagnostics, self.versions, self.texts, self.cells = {}, {}, {}, {}
        self.messages, self.logged, self.registered = [], [], []
        self._news = asyncio.Event()
        self.told = 0
        self.client = LanguageClient("editor", "1")
        converter = self.client.protocol._converter
        # lsprotocol takes an action with a command for a command.
        converter.register_structure_hook(
            Union[lsp.Command, lsp.CodeAction],
            lambda given, _: converter.structure(given, lsp.Command if isinstance(given.get("command"), str) else lsp.CodeAction),
        )
        self._listen()
        if not refuses:
            self._answer()

    def _listen(self):
        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def told(params):
            self.diagnostics[params.uri] = list(params.diagnostics)
            self.versions_told[params.uri] = params.version
            self.told += 1
            self._news.set()

        @self.client.feature(lsp.WINDOW_SHOW_MESSAGE)
        def shown(params):
            self.messages.append(params.message)
            self._news.set()

        @self.client.feature(lsp.WINDOW_LOG_MESSAGE)
        def logged(params):
            self.logged.append(params.message)
            self._news.set()

    def _answer(self):
        @self.client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def registered(params):
            self.registered += [one.method for one in params.registrations]

        @self.client.feature(lsp.WORKSPACE_CONFIGURATION)
        def configured(params):
            return [self.settings] + [None] * (len(params.items) - 1)

        @self.client.feature(lsp.WORKSPACE_APPLY_EDIT)
        def applied(params):
            self.apply(params.edit)
            return lsp.ApplyWorkspaceEditResult(True)

    async def __aenter__(self):
        self.versions_told = {}
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        cwd = str(self.folders[0]) if self.folders else None
        await self.client.start_io(
            sys.executable, "-m", "torchlint", "server", "--stdio", cwd=cwd, env={**os.environ, "PYTHONPATH": path}
        )
        capabilities = self.client.protocol._converter.structure(self.abilities, lsp.ClientCapabilities)
        self.server = await self.client.initialize_async(lsp.InitializeParams(
            capabilities, process_id=os.getpid(), root_uri=None if not self.folders else uri_of(self.folders[0]),
            workspace_folders=[lsp.WorkspaceFolder(uri_of(one), one.name) for one in self.folders] or None,
            initialization_options=self.options,
        ))
        self.codec = PositionCodec(self.server.capabilities.position_encoding)
        self.client.initialized(lsp.InitializedParams())
        return self

    async def __aexit__(self, kind, *rest):
        if kind is not None:
            self.client._server.kill()
            return
        await asyncio.wait_for(self.client.shutdown_async(None), _PATIENCE)
        self.client.exit(None)
        await asyncio.wait_for(self.client._server.wait(), _PATIENCE)
        self.status = self.client._server.returncode

    async def until(self, holds):
        """Waits until something holds of what was told, shown or logged."""
        async with asyncio.timeout(_PATIENCE) if sys.version_info >= (3, 11) else _nothing():
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def open(self, path, text=None, language="python", uri=None):
        """Opens a file, and waits for what is told of it."""
        uri = uri or uri_of(path)
        if text is None:
            with open(path, encoding="utf-8", newline="") as file:
                text = file.read()
        self.texts[uri], self.versions[uri] = text, 1
        before = self.told
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, language, 1, text)))
        if language == "python":
            await self.until(lambda: self.versions_told.get(uri) == 1 and self.told > before)
        return uri

    def type(self, uri, *changes):
        """Puts changes into a text: (offset from, offset to, what), or a whole text."""
        events = []
        for change in changes:
            if isinstance(change, str):
                self.texts[uri] = change
                events.append(lsp.TextDocumentContentChangeWholeDocument(change))
                continue
            begin, end, new = change
            text = self.texts[uri]
            at = lsp.Range(self.position(text, begin), self.position(text, end))
            events.append(lsp.TextDocumentContentChangePartial(at, new))
            self.texts[uri] = text[:begin] + new + text[end:]
        self.versions[uri] += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(self.versions[uri], uri), events)
        )

    async def settled(self, uri):
        """Waits for what is told of a text as it is now."""
        await self.until(lambda: self.versions_told.get(uri) == self.versions[uri])

    def save(self, uri, path, write=True):
        """Writes a text to its file, and says so."""
        if write:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(self.texts[uri])
        self.versions_told.pop(uri, None)
        self.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

    def close(self, uri):
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

    # Notebooks.

    async def open_notebook(self, path, cells):
        """Opens a notebook, with all its cells, and waits for what is told of it; gives the cells' names."""
        self.notebook, self.notebook_version = uri_of(path), 1
        self.cell_names = [f"vscode-notebook-cell:{path}#c{number}" for number in range(len(cells))]
        items, documents = [], []
        for name, cell in zip(self.cell_names, cells):
            code = cell["cell_type"] == "code"
            self.texts[name], self.versions[name], self.cells[name] = cell["source"], 1, True
            items.append(lsp.NotebookCell(lsp.NotebookCellKind.Code if code else lsp.NotebookCellKind.Markup, name))
            documents.append(lsp.TextDocumentItem(name, "python" if code else "markdown", 1, cell["source"]))
        self.client.notebook_document_did_open(lsp.DidOpenNotebookDocumentParams(
            lsp.NotebookDocument(self.notebook, "jupyter-notebook", 1, items), documents
        ))
        await self.until(lambda: all(name in self.diagnostics for name in self.cell_names))
        return list(self.cell_names)

    def _changed(self, cells):
        self.notebook_version += 1
        self.client.notebook_document_did_change(lsp.DidChangeNotebookDocumentParams(
            lsp.VersionedNotebookDocumentIdentifier(self.notebook_version, self.notebook),
            lsp.NotebookDocumentChangeEvent(cells=cells),
        ))

    def _content(self, name, change):
        self.versions[name] += 1
        document = lsp.VersionedTextDocumentIdentifier(self.versions[name], name)
        self._changed(lsp.NotebookDocumentCellChanges(text_content=[lsp.NotebookDocumentCellContentChanges(document, [change])]))

    def told_of_cells(self, name):
        """Tells the server what a cell holds now."""
        self._content(name, lsp.TextDocumentContentChangeWholeDocument(self.texts[name]))

    def type_into_cell(self, name, begin, end, new):
        text = self.texts[name]
        at = lsp.Range(self.position(text, begin), self.position(text, end))
        self.texts[name] = text[:begin] + new + text[end:]
        self._content(name, lsp.TextDocumentContentChangePartial(at, new))

    def remove_cell(self, number):
        name = self.cell_names.pop(number)
        self._changed(lsp.NotebookDocumentCellChanges(structure=lsp.NotebookDocumentCellChangeStructure(
            lsp.NotebookCellArrayChange(number, 1), did_close=[lsp.TextDocumentIdentifier(name)]
        )))

    def close_notebook(self):
        self.client.notebook_document_did_close(lsp.DidCloseNotebookDocumentParams(
            lsp.NotebookDocumentIdentifier(self.notebook), [lsp.TextDocumentIdentifier(name) for name in self.cell_names]
        ))

    def position(self, text, offset):
        """An offset as a position in the units of the server."""
        rows = rows_of(text[:offset]) or [""]
        if rows[-1].endswith("\n"):
            rows.append("")
        return lsp.Position(len(rows) - 1, self.codec.client_num_units(rows[-1]))

    def shown(self, uri, diagnostic):
        """The text under a diagnostic."""
        text = self.texts[uri]
        begin, end = (offset_of(rows_of(text), at, self.codec) for at in (diagnostic.range.start, diagnostic.range.end))
        return text[begin:end]

    def codes(self, uri):
        """The codes told of a document, with the lines that they are told at, counted from 1."""
        return [(one.code, one.range.start.line + 1) for one in self.diagnostics.get(uri, [])]

    async def actions(self, uri, diagnostic=None, only=None):
        """The actions that are offered at a diagnostic, or for the whole text."""
        at = diagnostic.range if diagnostic else lsp.Range(lsp.Position(0, 0), lsp.Position(len(rows_of(self.texts[uri])), 0))
        context = lsp.CodeActionContext([diagnostic] if diagnostic else [], only)
        return await asyncio.wait_for(self.client.text_document_code_action_async(
            lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), at, context)
        ), _PATIENCE) or []

    async def do(self, action):
        """Does what an action says, as an editor would."""
        if action.edit is None and action.data is not None:
            action = await asyncio.wait_for(self.client.code_action_resolve_async(action), _PATIENCE)
        if action.edit is not None:
            self.apply(action.edit)
        if action.command is not None:
            await asyncio.wait_for(self.client.workspace_execute_command_async(
                lsp.ExecuteCommandParams(action.command.command, action.command.arguments)
            ), _PATIENCE)

    def apply(self, edit):
        """Puts a change of the workspace into the texts, and tells the server."""
        by_uri = dict(edit.changes or {})
        for one in edit.document_changes or []:
            assert one.text_document.version == self.versions[one.text_document.uri]
            by_uri[one.text_document.uri] = one.edits
        for uri, edits in by_uri.items():
            text = self.texts[uri]
            rows = rows_of(text)
            spans = sorted((offset_of(rows, one.range.start, self.codec), offset_of(rows, one.range.end, self.codec), one.new_text) for one in edits)
            for begin, end, new in reversed(spans):
                text = text[:begin] + new + text[end:]
            if uri in self.cells:
                self.texts[uri] = text
            else:
                self.type(uri, text)

    async def hover(self, uri, position):
        found = await asyncio.wait_for(self.client.text_document_hover_async(
            lsp.HoverParams(lsp.TextDocumentIdentifier(uri), position)
        ), _PATIENCE)
        return found and found.contents


def uri_of(path):
    return from_fs_path(str(path))


class _nothing:
    async def __aenter__(self):
        return self

    async def __aexit__(self, *rest):
        return None


def run(work):
    """Runs an asynchronous test to its end."""
    asyncio.run(work())
