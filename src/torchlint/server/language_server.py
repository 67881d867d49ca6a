"""The server's state: what is open, what is known of it, what the client asks for."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from torchlint import __version__
from torchlint.files.source import Problem
from torchlint.server import options
from torchlint.server.answers import Answer, answer, kept
from torchlint.server.client import can, client_of, notebooks
from torchlint.server.documents import Open, deepest, open_notebook, open_text
from torchlint.server.judging import Judging, Verdict
from torchlint.server.places import Places
from torchlint.server.turns import Turns

_STACK = 64 * 1024 * 1024  # of the thread that judges: parsers go deep, and threads have little on some systems
_log = logging.getLogger("torchlint")
_T = TypeVar("_T")


class Server(LanguageServer):
    """A language server. What is judged is judged in one thread, so that it can listen in the meantime."""

    def __init__(self) -> None:
        super().__init__(
            "torchlint", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            notebook_document_sync=notebooks(),
        )
        self.answers: dict[str, Answer] = {}
        self.asked_to_end = False
        self.judging = Judging()
        self.turns = Turns(self._judge)
        self._layers: dict[str, dict[str, Any]] = {"": {}}  # the client's settings, by folder; "" for all
        self._said: set[str] = set()
        self._logged: set[tuple[str, str]] = set()
        self._thread: ThreadPoolExecutor | None = None

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """What some work gives that asks the judges."""
        if self._thread is None:
            size = threading.stack_size(_STACK)
            self._thread = ThreadPoolExecutor(1)
            self._thread.submit(int).result()  # it begins with the stack that was asked for
            threading.stack_size(size)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # What is open.

    def folders(self) -> dict[str, str]:
        """The folders that the client works in, by their paths, with what it calls them."""
        uris = [folder.uri for folder in self.workspace.folders.values()] or [self.workspace.root_uri or ""]
        return {os.path.abspath(path): uri for uri in filter(None, uris) if (path := to_fs_path(uri))}

    def folder_of(self, path: str) -> str:
        """Where the settings of a file are looked for from."""
        return deepest(path, self.folders()) or os.path.dirname(path)

    def opened(self) -> dict[str, Open]:
        """All that is open and can be judged, by its name, as it is now."""
        home = next(iter(self.folders()), os.getcwd())
        workspace = self.workspace
        found = [open_notebook(notebook, workspace, home) for notebook in workspace.notebook_documents.values()]
        cells = {cell.document for notebook in workspace.notebook_documents.values() for cell in notebook.cells}
        found += [open_text(text, home) for text in workspace.text_documents.values() if text.uri not in cells]
        return {one.uri: one for one in found if one is not None}

    def name_of(self, uri: str) -> str:
        """The document that a text is of: the notebook, for a cell."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return uri if notebook is None else notebook.uri

    def known(self, uri: str) -> Answer | None:
        """What is known of a text or a cell, if that is what it is now."""
        known = self.answers.get(self.name_of(uri))
        return known if known is not None and known.one.same(self.opened().get(known.one.uri)) else None

    # What the client asks for.

    def settle(self, given: Any, folder: str = "") -> None:
        """Takes the client's settings, for a folder or for all."""
        found, complaints = options.read(given)
        self._layers[folder] = found
        for complaint in complaints:
            self.say(complaint, lsp.MessageType.Warning)

    def options_of(self, path: str) -> options.Options:
        """The client's settings that hold for a file."""
        return options.made(self._layers[""], self._layers.get(deepest(path, self.folders()) or "", {}))

    def client(self, path: str):
        """What matters of the client to what is offered in a file."""
        return client_of(self.client_capabilities, self.options_of(path).unsafe_fixes)

    # What is told.

    def say(self, message: str, kind: lsp.MessageType = lsp.MessageType.Error) -> None:
        """Shows a message, once."""
        if message not in self._said:
            self._said.add(message)
            self.window_show_message(lsp.ShowMessageParams(kind, f"torchlint: {message}"))

    def forget_said(self) -> None:
        """Lets messages be shown again: settings have changed."""
        self._said.clear()

    def publish(self, diagnostics: dict[str, list[lsp.Diagnostic]], versions: dict[str, int | None]) -> None:
        """Tells what stands in some documents."""
        for uri, some in diagnostics.items():
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, some, version=versions.get(uri)))

    def close(self, name: str) -> None:
        """Forgets a document, and takes back what was told of it."""
        self.turns.drop(name)
        known = self.answers.pop(name, None)
        if known is not None:
            self.publish({uri: [] for uri in known.diagnostics()}, {})
        self.turns.renew(self.opened())

    def renew(self, but: Iterable[str] = ()) -> None:
        """Judges what is open again, but for some documents: what it depends on may have changed."""
        left = set(but)
        self.turns.renew(name for name in self.opened() if name not in left)

    # What is judged.

    async def _judge(self, name: str, stop: threading.Event) -> bool:
        opened = self.opened()
        one = opened.get(name)
        if one is None:
            return True
        known = self.answers.get(name)
        verdict = None
        if known is None:
            # At first what the document says by itself: the files that use it may take a while.
            verdict = await self._verdict(one, opened, lambda: False)
            if not self._tell(one, opened, verdict):
                return True
            if verdict.whole:
                self._log(one.path, verdict.problems)
                return True
        limit = time.monotonic() + self.options_of(one.path).timeout
        verdict = await self._verdict(one, opened, lambda: not stop.is_set() and time.monotonic() < limit)
        if stop.is_set() and not verdict.whole:
            return False
        if self._tell(one, opened, verdict):
            self._log(one.path, verdict.problems)
        return True

    async def _verdict(self, one: Open, opened: dict[str, Open], goes_on: Callable[[], bool]) -> Verdict:
        folder, asked = self.folder_of(one.path), self.options_of(one.path)
        began = time.monotonic()
        try:
            return await self.in_thread(lambda: self.judging.of(one, opened.values(), folder, asked, goes_on))
        except (ValueError, OSError) as error:
            self.say(str(error))
        except Exception as error:  # whatever it is, the editor's user goes on typing
            _log.exception("%s", one.path)
            self.say(f"internal error, please report it ({type(error).__name__}: {error})")
        finally:
            _log.info("%s: %.3f s", one.path, time.monotonic() - began)
        return Verdict()

    def _tell(self, one: Open, opened: dict[str, Open], verdict: Verdict) -> bool:
        """Tells what was found, if the document is still what was judged."""
        if not one.same(self.opened().get(one.uri)):
            return False
        related = bool(can(self.client_capabilities, "text_document.publish_diagnostics.related_information"))
        found = answer(one, verdict, Places(opened.values(), self.workspace.position_codec), related)
        old = self.answers.get(one.uri)
        if old is not None and one.cells is None and verdict.broken and one.uri in old.one.rows:
            found = kept(found, old)
        gone = {uri: [] for uri in (old.diagnostics() if old else {})}
        self.answers[one.uri] = found
        self.publish({**gone, **found.diagnostics()}, one.versions)
        return True

    def _log(self, path: str, problems: Iterable[Problem]) -> None:
        """Tells the log what is no mark in the text, once."""
        for problem in problems:
            if problem.note and problem.row is None and (path, problem.message) not in self._logged:
                self._logged.add((path, problem.message))
                self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Info, f"{path}: {problem.message}"))
