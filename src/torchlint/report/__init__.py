"""Prints findings. Both tools print through here; nothing here knows which of them is speaking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TextIO

import msgspec

from torchlint.catalogue.pages import Rule
from torchlint.findings import Finding, Location

FORMATS = {
    "full": "each finding with its source line, the other lines that matter, and how to mend it",
    "concise": "one line a finding: path:row:column: code message",
    "json": "an array with an object a finding",
    "github": "annotations on a GitHub pull request",
    "sarif": "SARIF 2.1.0, for code scanning services",
    "junit": "JUnit XML, for CI servers",
}


class Note(msgspec.Struct, frozen=True):
    """Something to know about a run that is no finding and no failure. `code` is what programs call it."""

    code: str
    location: Location
    message: str
    line: str


class Context(msgspec.Struct, frozen=True):
    """What a report needs besides the findings.

    `prefix` is what the tool's codes begin with. `lines` gives the source line that a location begins on, or None.
    `rules` are the rules by number that were judged by.
    `problems` are lines about what could not be judged, `notes` what is said of files that were judged in part; formats with
    a place for such things tell them.
    """

    tool: str = "torchlint"
    version: str = ""
    prefix: str = "TL"
    lines: Callable[[Location], str | None] = lambda location: None
    rules: Mapping[int, Rule] = {}
    problems: Sequence[str] = ()
    notes: Sequence[Note] = ()
    files: int | None = None


def write(format: str, findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print the findings in one of FORMATS.

    Raises:
        KeyError: there is no such format.
    """
    FORMATS[format]
    import_module(f"torchlint.report.{format}").write(findings, out, context)


def write_json(data: Any, out: TextIO) -> None:
    """Print plain data as JSON, indented."""
    out.write(msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n")


def fingerprints(findings: Sequence[Finding], context: Context) -> list[str]:
    """A fingerprint for each finding. The same line twice in a file: they are counted, so that they still differ."""
    seen: dict[str, int] = {}
    told = []
    for finding in findings:
        name = finding.fingerprint(context.lines(finding.location) or "")
        seen[name] = seen.get(name, 0) + 1
        told.append(f"{name}:{seen[name]}")
    return told


def place(location: Location) -> str:
    """A location in one word: path:row:column, or path:cell N:row:column in a notebook."""
    cell = "" if location.cell is None else f"cell {location.cell}:"
    return f"{clean(location.filename)}:{cell}{location.row}:{location.column}"


def clean(text: str) -> str:
    """The text on one line and without control characters, which could take over a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
