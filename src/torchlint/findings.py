"""The one result type of both tools: a finding, where it is, and what else matters to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

import msgspec


class Severity(str, Enum):
    """How much a finding matters. The catalogue's group gives the default; the configuration may change it."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Location(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stretch of source text. Rows and columns count from 1, columns in characters; the end column is one past the
    last character. In a notebook, `cell` counts the code and text cells from 1 and `row` counts within the cell.
    """

    filename: str
    row: int
    column: int = 1
    end_row: int | None = None
    end_column: int | None = None
    cell: int | None = None


class Related(msgspec.Struct, frozen=True, omit_defaults=True):
    """Another line that matters to a finding, and why it does."""

    location: Location
    message: str


class Edit(msgspec.Struct, frozen=True):
    """A change of text: `content` takes the place of `replaces`, which stands at `location`, whose end is given; where start
    and end are one, it is put in. `digest` is the sha256 of the file that it was made for, which is the only one that it may
    be put into."""

    location: Location
    content: str
    replaces: str = ""
    digest: str = ""


class Fix(msgspec.Struct, frozen=True):
    """What mends a finding: all edits, or none. `applicability` is "safe" where the author can have meant nothing else,
    "unsafe" where the program may then do something that was not asked for; `message` says what is done."""

    applicability: Literal["safe", "unsafe"]
    message: str
    edits: tuple[Edit, ...]


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One mistake at one place.

    `code` is TL (source) or TS (live run) and the pitfall's number. `help` says how to mend it. `step` (counted from 0),
    `ranks`, `count` and `details` are filled in by torchsan alone: when it was first seen, where, how often, with what
    values (plain JSON types only). `digest` is the sha256 of the file that it stands in, as it was when it was judged; ""
    where that is not known.
    """

    code: str
    name: str
    message: str
    location: Location
    group: str
    severity: Severity = Severity.ERROR
    help: str = ""
    url: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    step: int | None = None
    ranks: tuple[int, ...] = ()
    count: int = 1
    details: dict[str, Any] = {}
    digest: str = ""

    @property
    def number(self) -> int:
        """The pitfall's number, the same for torchlint and torchsan."""
        return int(self.code[2:])

    @property
    def places(self) -> tuple[Location, ...]:
        """Where it stands, what it shows besides, and what its fix changes."""
        edits = self.fix.edits if self.fix is not None else ()
        return (self.location, *(item.location for item in (*self.related, *edits)))

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        at = self.location
        return (at.filename, at.cell or 0, at.row, at.column, self.code)

    def fingerprint(self, line: str = "") -> str:
        """A short name for this finding that survives edits elsewhere in the file and is the same in both tools.

        `line` is the text of the source line it stands on.
        """
        where = self.location.filename.replace("\\", "/").rsplit("/", 1)[-1]
        text = "\0".join((str(self.number), where, "".join(line.split())))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def made_for(self, digests: Mapping[str, str | None]) -> Finding:
        """This finding with the digests of the files, by name, that it and its edits were made for."""
        fix = self.fix
        if fix is not None:
            edits = (msgspec.structs.replace(edit, digest=digests.get(edit.location.filename) or "") for edit in fix.edits)
            fix = msgspec.structs.replace(fix, edits=tuple(edits))
        return msgspec.structs.replace(self, fix=fix, digest=digests.get(self.location.filename) or "")
