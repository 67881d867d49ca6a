"""What is told of a document: its diagnostics, and what they were made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lsprotocol import types as lsp

from torchlint.files.source import Problem
from torchlint.findings import Finding, Location, Severity
from torchlint.server.carrying import carried
from torchlint.server.documents import Open
from torchlint.server.judging import Verdict
from torchlint.server.places import Places

SOURCE = "torchlint"
NOT_JUDGED = "not-judged"
_SEVERITY = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}


@dataclass(frozen=True)
class Told:
    """A finding, and how it is told."""

    finding: Finding
    uri: str
    diagnostic: lsp.Diagnostic


@dataclass(frozen=True)
class Answer:
    """What is told of one state of a document. `problems` are what could not be judged, `rest` what is told of these."""

    one: Open
    verdict: Verdict
    places: Places
    told: tuple[Told, ...]
    rest: tuple[tuple[str, lsp.Diagnostic], ...]

    def diagnostics(self) -> dict[str, list[lsp.Diagnostic]]:
        """All of it, by the document that it stands in: each cell of a notebook is one."""
        found: dict[str, list[lsp.Diagnostic]] = {uri: [] for uri in self.one.rows}
        for uri, diagnostic in (*((item.uri, item.diagnostic) for item in self.told), *self.rest):
            found.setdefault(uri, []).append(diagnostic)
        return found

    def at(self, uri: str, around: lsp.Range) -> Iterator[Told]:
        """What is told in a document of places that a range touches."""
        return (item for item in self.told if item.uri == uri and _touch(item.diagnostic.range, around))


def answer(one: Open, verdict: Verdict, places: Places, related: bool) -> Answer:
    """What is told of a verdict.

    Args:
        one: the document.
        verdict: what is said of it.
        places: where things stand.
        related: whether the editor shows other lines that matter; if not, they are told in the message.
    """
    told = []
    for finding in verdict.findings:
        uri = places.name(finding.location)
        if uri is not None:
            told.append(Told(finding, uri, _diagnostic(finding, places, related)))
    return Answer(one, verdict, places, tuple(told), tuple(_rest(one, verdict.problems, places)))


def kept(now: Answer, old: Answer) -> Answer:
    """What is told of a text that cannot be judged, with what was told of its last state, as far as that still stands there. Nothing
    can be done about the latter until the text is judged again."""
    uri = now.one.uri
    told = [item.diagnostic for item in old.told] + [one for _, one in old.rest if one.code != NOT_JUDGED]
    again = carried(told, old.one.rows[uri], now.one.rows[uri])
    return replace(now, rest=(*now.rest, *((uri, one) for one in again)))


def _diagnostic(finding: Finding, places: Places, related: bool) -> lsp.Diagnostic:
    message = finding.message + (f"\nhelp: {finding.help}" if finding.help else "")
    others = []
    for item in finding.related:
        uri = places.name(item.location)
        if related and uri is not None:
            others.append(lsp.DiagnosticRelatedInformation(lsp.Location(uri, places.range(item.location)), item.message))
        else:
            message += f"\n{_where(item.location, finding.location)}: {item.message}"
    return lsp.Diagnostic(
        range=places.range(finding.location),
        message=message,
        severity=_SEVERITY[finding.severity],
        code=finding.code,
        code_description=lsp.CodeDescription(finding.url) if finding.url else None,
        source=SOURCE,
        related_information=others or None,
    )


def _where(at: Location, beside: Location) -> str:
    cell = "" if at.cell is None else f"cell {at.cell}, "
    return f"{cell}line {at.row}" if at.filename == beside.filename else f"{at.filename}, {cell}line {at.row}"


def _rest(one: Open, problems: list[Problem], places: Places) -> Iterator[tuple[str, lsp.Diagnostic]]:
    """What could not be judged. A note without a line is no mark in the text: it goes to the log."""
    for problem in problems:
        if problem.note and problem.row is None:
            continue
        at = Location(one.path, problem.row or 1, cell=problem.cell or (1 if one.cells else None))
        uri = places.name(at)
        if uri is not None:
            message = f"not judged{' whole' if problem.note else ''}: {problem.message}"
            severity = lsp.DiagnosticSeverity.Warning if problem.internal else lsp.DiagnosticSeverity.Information
            yield uri, lsp.Diagnostic(places.range(at), message, severity=severity, code=NOT_JUDGED, source=SOURCE)


def _touch(one: lsp.Range, other: lsp.Range) -> bool:
    def key(at: lsp.Position) -> tuple[int, int]:
        return at.line, at.character

    return key(one.start) <= key(other.end) and key(other.start) <= key(one.end)
