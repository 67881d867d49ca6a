"""What the editor on the other side can do, as it says when it starts."""

from __future__ import annotations

from typing import Any

from lsprotocol import types as lsp
from pygls.capabilities import get_capability

from torchlint.server.actions import Client


def can(capabilities: lsp.ClientCapabilities, what: str) -> Any:
    """What the client says of an ability, by its path; None where it says nothing."""
    return get_capability(capabilities, what)


def client_of(capabilities: lsp.ClientCapabilities, unsafe: bool) -> Client:
    """What matters of the client to what is offered."""
    later = can(capabilities, "text_document.code_action.resolve_support")
    keeps = bool(can(capabilities, "text_document.code_action.data_support"))
    return Client(
        versions=bool(can(capabilities, "workspace.workspace_edit.document_changes")),
        resolves=later is not None and "edit" in later.properties and keeps,
        marks=bool(can(capabilities, "text_document.code_action.is_preferred_support")),
        unsafe=unsafe,
    )


def wished(capabilities: lsp.ClientCapabilities) -> list[lsp.Registration]:
    """What the client is asked to tell, where it can be: files that change on disk, whoever changes them, and settings."""
    found = []
    if can(capabilities, "workspace.did_change_watched_files.dynamic_registration"):
        globs = ("**/*.py", "**/torchlint.toml", "**/pyproject.toml", "**/requirements.txt", "**/environment.yml")
        options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(glob) for glob in globs])
        found.append(lsp.Registration("torchlint-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if can(capabilities, "workspace.did_change_configuration.dynamic_registration"):
        found.append(lsp.Registration("torchlint-settings", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION))
    return found


def notebooks() -> lsp.NotebookDocumentSyncOptions:
    """Asks for notebooks, with all their cells: they are counted as everybody counts them."""
    selector = lsp.NotebookDocumentFilterWithNotebook(lsp.NotebookDocumentFilterNotebookType("jupyter-notebook"))
    return lsp.NotebookDocumentSyncOptions([selector], save=True)
