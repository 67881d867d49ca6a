"""Annotations on a GitHub pull request, as workflow commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from torchlint.findings import Finding, Severity
from torchlint.report import Context, place

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
        text = f"{place(at)}: {finding.code} {finding.message}"
        for item in finding.related:
            text += f"\n{place(item.location)}: {item.message}"
        if finding.help:
            text += f"\nhelp: {finding.help}"
        out.write(_command(_COMMANDS[finding.severity], properties, text))
    for note in context.notes:
        properties = {"title": f"{context.tool} ({note.code})", "file": note.location.filename}
        if note.location.cell is None:
            properties["line"] = str(note.location.row)
        out.write(_command("notice", properties, note.line))


def _command(name: str, properties: dict[str, str], text: str) -> str:
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {told}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
