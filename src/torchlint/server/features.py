"""What the server listens to: each message of the protocol, and what is done about it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from torchlint.server import actions, hover, mending
from torchlint.server.answers import Answer
from torchlint.server.client import can, wished
from torchlint.server.documents import Documents
from torchlint.server.language_server import Server
from torchlint.server.options import SECTION


def made() -> Server:
    """A server that listens."""
    server = Server()
    for register in (_life, _settings, _texts, _notebooks, _offers):
        register(server)
    return server


def _life(server: Server) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(ls: Server, params: lsp.InitializeParams) -> None:
        old = ls.workspace
        # pygls has no way to be given one.
        ls.protocol._workspace = Documents(
            old.root_uri, workspace_folders=params.workspace_folders, position_encoding=old.position_encoding
        )
        ls.settle(params.initialization_options)

    @server.feature(lsp.INITIALIZED)
    async def initialized(ls: Server, params: lsp.InitializedParams) -> None:
        wishes = wished(ls.client_capabilities)
        if wishes:
            with suppress(JsonRpcException):  # a wish
                await ls.client_register_capability_async(lsp.RegistrationParams(wishes))
        await _pull(ls)

    @server.feature(lsp.SHUTDOWN)
    def shutdown(ls: Server, params: Any) -> None:
        ls.asked_to_end = True
        ls.turns.stop()


async def _pull(ls: Server) -> None:
    """Asks the client for its settings, folder by folder, where it can be asked."""
    if not can(ls.client_capabilities, "workspace.configuration"):
        return
    folders = ls.folders()
    items = [lsp.ConfigurationItem(section=SECTION), *(lsp.ConfigurationItem(uri, SECTION) for uri in folders.values())]
    try:
        given = await ls.workspace_configuration_async(lsp.ConfigurationParams(items))
    except JsonRpcException:  # it cannot tell after all: what it said at the start holds
        return
    for folder, settings in zip(["", *folders], given or ()):
        if settings is not None:
            ls.settle(settings, folder)
    ls.renew()


def _settings(server: Server) -> None:
    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def changed(ls: Server, params: lsp.DidChangeConfigurationParams) -> None:
        ls.forget_said()
        if params.settings:
            ls.settle(params.settings)
        await _pull(ls)
        ls.renew()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def on_disk(ls: Server, params: lsp.DidChangeWatchedFilesParams) -> None:
        if any(not change.uri.endswith(".py") for change in params.changes):
            ls.forget_said()
        ls.renew()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(ls: Server, params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        keep = [ls.folder_of(one.path) for one in ls.opened().values()]
        await ls.in_thread(lambda: ls.judging.leave(keep))
        await _pull(ls)
        ls.renew()


def _texts(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        ls.turns.at_once(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        _typed(ls, params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: Server, params: lsp.DidSaveTextDocumentParams) -> None:
        ls.turns.at_once(params.text_document.uri)
        ls.renew([params.text_document.uri])

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.close(params.text_document.uri)


def _typed(ls: Server, name: str) -> None:
    one = ls.opened().get(name)
    if one is not None and ls.options_of(one.path).run == "onType":
        ls.turns.after(name, ls.options_of(one.path).delay / 1000)


def _notebooks(server: Server) -> None:
    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(ls: Server, params: lsp.DidOpenNotebookDocumentParams) -> None:
        ls.turns.at_once(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(ls: Server, params: lsp.DidChangeNotebookDocumentParams) -> None:
        _typed(ls, params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(ls: Server, params: lsp.DidSaveNotebookDocumentParams) -> None:
        ls.turns.at_once(params.notebook_document.uri)
        ls.renew([params.notebook_document.uri])

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: lsp.DidCloseNotebookDocumentParams) -> None:
        ls.close(params.notebook_document.uri)


def _offers(server: Server) -> None:
    kinds = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, actions.FIX_ALL], resolve_provider=True)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def offer(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        known = ls.known(uri)
        if known is None:
            return []
        return list(actions.offered(known, uri, params.range, params.context.only, ls.client(known.one.path)))

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    async def resolve(ls: Server, params: lsp.CodeAction) -> lsp.CodeAction:
        if isinstance(params.data, dict):
            params.edit = await _mended(ls, params.data)
        return params

    @server.command(actions.COMMAND)
    async def apply(ls: Server, data: dict) -> None:
        edit = await _mended(ls, data)
        if edit is not None:
            await ls.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(edit, "torchlint: fix all"))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def show(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        return await _hover(ls, params)


async def _mended(ls: Server, data: dict[str, Any]) -> lsp.WorkspaceEdit | None:
    """What mends a document; None where it is not any more what was judged, or nothing can be mended."""
    known = ls.known(str(data.get("uri")))
    if known is None:
        return None
    path, opened = known.one.path, ls.opened()
    folder, asked, code, unsafe = ls.folder_of(path), ls.options_of(path), data.get("code"), bool(data.get("unsafe"))
    edits = await ls.in_thread(
        lambda: mending.mended(known, ls.judging.session(opened.values(), folder, asked).runner(path), code, unsafe)
    )
    if not edits or ls.known(known.one.uri) is not known:
        return None
    return actions.changes(edits, known.places, ls.client(path))


async def _hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    uri, at = params.text_document.uri, params.position
    known = ls.known(uri)
    if known is None:
        return None
    kinds = can(ls.client_capabilities, "text_document.hover.content_format") or ()
    parts, where = [], None
    for item in known.at(uri, lsp.Range(at, at)):
        rule = await _rule(ls, known, item.finding.code)
        if rule is not None:
            parts.append(hover.page(rule, [f"{item.finding.message}"]))
            where = where or item.diagnostic.range
    if not parts:
        rows = known.one.rows.get(uri, [])
        found = hover.codes_in(rows[at.line], at.character) if at.line < len(rows) else None
        rule = await _rule(ls, known, found[0]) if found else None
        if rule is not None:
            parts = [hover.page(rule)]
    return lsp.Hover(hover.content("\n\n---\n\n".join(parts), kinds), where) if parts else None


async def _rule(ls: Server, known: Answer, code: str):
    path = known.one.path
    opened, folder, asked = ls.opened(), ls.folder_of(path), ls.options_of(path)
    return await ls.in_thread(lambda: ls.judging.rule(code, known.one, opened.values(), folder, asked))
