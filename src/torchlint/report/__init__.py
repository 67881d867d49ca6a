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
    "grouped": "the same, under the name of each file",
    "agent": "one line a finding and the fix as a diff, for coding agents",
    "json": "an array with an object a finding",
    "json-lines": "the same objects, one a line",
    "github": "annotations on a GitHub pull request",
    "gitlab": "GitLab's code quality report",
    "azure": "logging commands of Azure Pipelines",
    "pylint": "one line a finding, as pylint's parseable output",
    "rdjson": "Reviewdog's diagnostics",
    "sarif": "SARIF 2.1.0, for code scanning services",
    "junit": "JUnit XML, for CI servers",
}
# Those that people read, and see standard error beside.
FOR_PEOPLE = ("full", "concise", "grouped")
NOT_JUDGED = "not-judged"


class Note(msgspec.Struct, frozen=True):
    """Something to know about a run that is no finding. `code` is what programs call it, `line` all of it in one line;
    `location` is None where it is about no file."""

    code: str
    location: Location | None
    message: str
    line: str


class Context(msgspec.Struct, frozen=True):
    """What a report needs besides the findings.

    `prefix` is what the tool's codes begin with. `lines` gives the source line that a location begins on, or None, `diff` what
    a finding's fix would change, or None. `rules` are the rules by number that were judged by.
    `problems` tell what could not be judged, `notes` what is said of files that were judged in part. `aside` says that
    people are told of these on standard error: formats for people then leave them out.
    `unsafe` says that unsafe fixes were asked for, too.
    """

    tool: str = "torchlint"
    version: str = ""
    prefix: str = "TL"
    lines: Callable[[Location], str | None] = lambda location: None
    diff: Callable[[Finding], str | None] = lambda finding: None
    rules: Mapping[int, Rule] = {}
    problems: Sequence[Note] = ()
    notes: Sequence[Note] = ()
    files: int | None = None
    aside: bool = False
    unsafe: bool = False

    def is_fixable(self, finding: Finding) -> bool:
        """Whether --fix, as it was asked for, would mend a finding."""
        return finding.fix is not None and (self.unsafe or finding.fix.applicability == "safe")

    def explained_by(self, finding: Finding) -> str:
        """The command that prints the page of a finding's rule; "" where there is none."""
        number = finding.code[2:]
        return f"torchlint explain {finding.code}" if number.isdecimal() and int(number) in self.rules else ""

    @property
    def told(self) -> tuple[Note, ...]:
        """Problems and notes."""
        return (*self.problems, *self.notes)


def write(format: str, findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print the findings in one of FORMATS.

    Raises:
        KeyError: there is no such format.
    """
    FORMATS[format]
    import_module(f"torchlint.report.{format.replace('-', '_')}").write(findings, out, context)


def write_json(data: Any, out: TextIO, indent: int = 2) -> None:
    """Print plain data as JSON, indented; on one line where `indent` is 0. What could take over a terminal, or the log of a CI
    server, is escaped: it says the same to whoever reads JSON."""
    from torchlint.report.escapes import in_json  # most runs find nothing, and need none of it

    raw = msgspec.json.encode(data)
    text = (msgspec.json.format(raw, indent=indent) if indent else raw).decode()
    out.write(in_json(text) + "\n")


def fingerprints(findings: Sequence[Finding], context: Context) -> list[str]:
    """A fingerprint for each finding. The same line twice in a file: they are counted, so that they still differ."""
    seen: dict[str, int] = {}
    told = []
    for finding in findings:
        name = finding.fingerprint(context.lines(finding.location) or "")
        seen[name] = seen.get(name, 0) + 1
        told.append(f"{name}:{seen[name]}")
    return told


def fixable_line(findings: Sequence[Finding], context: Context) -> str:
    """How many findings can be mended, and by which options; "" where none can."""
    safe = sum(finding.fix is not None and finding.fix.applicability == "safe" for finding in findings)
    unsafe = sum(finding.fix is not None for finding in findings) - safe
    if context.unsafe and safe + unsafe:
        return f"{safe + unsafe} fixable with --fix --unsafe-fixes."
    if safe and unsafe:
        return f"{safe} fixable with --fix, {unsafe} more with --unsafe-fixes."
    return f"{safe} fixable with --fix." if safe else f"{unsafe} fixable with --fix --unsafe-fixes." if unsafe else ""


def place(location: Location) -> str:
    """A location in one word: path:row:column, or path:cell N:row:column in a notebook."""
    cell = "" if location.cell is None else f"cell {location.cell}:"
    return f"{path(location.filename)}:{cell}{location.row}:{location.column}"


def path(filename: str) -> str:
    """A file name as it can stand at the start of a line: one that GitHub would take for a command gets a ./ before it."""
    shown = clean(filename)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def clean(text: str) -> str:
    """The text on one line, without control characters, which could take over a terminal, and without what CI servers take
    for commands in their logs."""
    if "##" in text:
        from torchlint.report.escapes import without_commands

        text = without_commands(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
