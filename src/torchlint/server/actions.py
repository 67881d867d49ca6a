"""What an editor offers to do about findings: mend, mend all of a rule, silence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types as lsp

from torchlint.files.parse import parse_source
from torchlint.files.source import Source, SourceError
from torchlint.findings import Edit, Finding
from torchlint.fixes.fixer import as_shown
from torchlint.fixes.silence import comments
from torchlint.server.answers import Answer, Told
from torchlint.server.places import Places

FIX_ALL = "source.fixAll.torchlint"
COMMAND = "torchlint.applyFixAll"  # mends a document where the editor cannot ask for an action's edit later

_UNSAFE = "unsafe, may change what the program does"


@dataclass(frozen=True)
class Client:
    """What the editor can do, and was asked for."""

    versions: bool  # edits may say which version of a document they are for
    resolves: bool  # an action's edit may be asked for later
    marks: bool  # actions may be marked as the one to be preferred
    unsafe: bool  # unsafe fixes are offered


def offered(
    known: Answer, uri: str, at: lsp.Range, only: Sequence[str] | None, client: Client
) -> Iterator[lsp.CodeAction]:
    """The actions for a range of a document.

    Args:
        known: what is known of it.
        uri: the text, or the cell.
        at: the range.
        only: the kinds that are wanted; None for all.
        client: what the editor can do.
    """
    told = list(known.at(uri, at))
    if _wanted(lsp.CodeActionKind.QuickFix, only) and told:
        source = _source(known)
        for item in told:
            yield from _mends(item, known, source, client)
        for code in dict.fromkeys(item.finding.code for item in told):
            mends = [_is_safe(one.finding) for one in known.told if one.finding.code == code and _may_mend(one.finding, client)]
            if len(mends) > 1:
                title = f"fix all {len(mends)} of {code} in this {'notebook' if known.one.cells is not None else 'file'}"
                title = title if all(mends) else f"{_UNSAFE}: {title}"
                data = {"uri": known.one.uri, "code": code, "unsafe": not all(mends)}
                yield _all(title, lsp.CodeActionKind.QuickFix, data, client)
        for item in told:
            yield from _silence(item, known, source, client)
    if _wanted(FIX_ALL, only) and any(_is_safe(item.finding) for item in known.told):
        yield _all("fix all that torchlint can mend safely", FIX_ALL, {"uri": known.one.uri}, client)


def changes(edits: Mapping[str, Sequence[lsp.TextEdit]], places: Places, client: Client) -> lsp.WorkspaceEdit:
    """Edits of documents as one change of the workspace."""
    if not client.versions:
        return lsp.WorkspaceEdit(changes={uri: list(some) for uri, some in edits.items()})
    return lsp.WorkspaceEdit(document_changes=[
        lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri, places.version(uri)), list(some))
        for uri, some in edits.items()
    ])


def _wanted(kind: str, only: Sequence[str] | None) -> bool:
    return only is None or any(kind == one or kind.startswith(one + ".") or one == "" for one in only)


def _is_safe(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability == "safe"


def _may_mend(finding: Finding, client: Client) -> bool:
    return finding.fix is not None and (client.unsafe or _is_safe(finding))


def _source(known: Answer) -> Source | None:
    try:
        return parse_source(known.one.path, known.one.raw)
    except SourceError:
        return None


def _mends(item: Told, known: Answer, source: Source | None, client: Client) -> Iterator[lsp.CodeAction]:
    finding, fix = item.finding, item.finding.fix
    safe = _is_safe(finding)
    if fix is None or not _may_mend(finding, client) or source is None or not as_shown(source, [_own(finding, known)]):
        return
    edit = _change(fix.edits, known, client)
    if edit is not None:
        title = f"{fix.message} ({finding.code})" if safe else f"{_UNSAFE}: {fix.message} ({finding.code})"
        yield lsp.CodeAction(
            title, kind=lsp.CodeActionKind.QuickFix, diagnostics=[item.diagnostic], edit=edit,
            is_preferred=True if safe and client.marks else None,
        )


def _own(finding: Finding, known: Answer) -> Finding:
    """The finding with those edits alone that go to the document that is asked about."""
    from msgspec.structs import replace

    own = tuple(edit for edit in finding.fix.edits if edit.location.filename == known.one.path) if finding.fix else ()
    return replace(finding, fix=replace(finding.fix, edits=own)) if finding.fix else finding


def _silence(item: Told, known: Answer, source: Source | None, client: Client) -> Iterator[lsp.CodeAction]:
    if source is None:
        return
    edit = _change(comments(source, [item.finding]), known, client)
    if edit is not None:
        title = f"silence {item.finding.code} here (`# noqa: {item.finding.code}`)"
        yield lsp.CodeAction(title, kind=lsp.CodeActionKind.QuickFix, diagnostics=[item.diagnostic], edit=edit)


def _change(edits: Iterable[Edit], known: Answer, client: Client) -> lsp.WorkspaceEdit | None:
    """The change that edits make; None where another file does not hold what they were made for."""
    found: dict[str, list[lsp.TextEdit]] = {}
    for edit in edits:
        path = os.path.abspath(edit.location.filename)
        uri = known.places.name(edit.location)
        if uri is None or path != known.one.path and not known.places.holds(path, edit.digest):
            return None
        found.setdefault(uri, []).append(known.places.text_edit(edit))
    return changes(found, known.places, client) if found else None


def _all(title: str, kind: str, data: dict[str, Any], client: Client) -> lsp.CodeAction:
    """An action whose edit is made once somebody wants it: all is mended and judged for it."""
    if client.resolves:
        return lsp.CodeAction(title, kind=kind, data=data)
    return lsp.CodeAction(title, kind=kind, command=lsp.Command(title, COMMAND, arguments=[data]))
