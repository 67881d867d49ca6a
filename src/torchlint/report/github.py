"""Annotations on a GitHub pull request, as workflow commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding, Severity
from torchlint.report import Context, Note, clean, place

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print one workflow command a finding. In a notebook the row within the cell means nothing to GitHub, so the
    annotation goes to the file and the text names the cell.
    """
    for finding in findings:
        at = finding.location
        properties = {"title": f"{context.tool} ({finding.code} {finding.name})", "file": at.filename}
        if at.cell is None:
            properties["line"] = str(at.row)
            properties["endLine"] = str(at.end_row or at.row)
            # GitHub takes columns only where the stretch lies in one line.
            if (at.end_row or at.row) == at.row:
                properties["col"] = str(at.column)
                properties["endColumn"] = str(at.end_column or at.column)
        text = [f"{place(at)}: {finding.code} {finding.message}"]
        text += [f"{place(item.location)}: {item.message}" for item in finding.related]
        text += [f"help: {finding.help}"] if finding.help else []
        out.write(_command(_COMMANDS[finding.severity], properties, text))
    for problem in context.problems:
        out.write(_of_note("error", problem, context.tool))
    for note in context.notes:
        out.write(_of_note("notice", note, context.tool))


def _of_note(command: str, note: Note, tool: str) -> str:
    properties = {"title": f"{tool} ({note.code})"}
    if note.location is not None:
        properties["file"] = note.location.filename
        if note.location.cell is None:
            properties["line"] = str(note.location.row)
    return _command(command, properties, [note.line])


def _command(name: str, properties: dict[str, str], lines: list[str]) -> str:
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {told}::{'%0A'.join(map(_data, lines))}\n"


def _data(text: str) -> str:
    return clean(text.replace("\n", " ").replace("%", "%25"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
