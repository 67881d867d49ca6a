"""`--with report.json`: what torchsan saw in a run, beside what stands in the source.

A finding of the source that the run saw too is marked so; what only the run can know is told at its line. A mistake is
the same in both where number, file and the text of a line agree (`Finding.fingerprint`), so that edits elsewhere in the
file do no harm; where the two tools point at different lines of one mistake, their related lines decide.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from torchlint.cli.parts import Parts
from torchlint.files.reading import read_bytes
from torchlint.files.source import describe
from torchlint.findings import Finding, Location, Related, Severity

_MOST_BYTES = 100_000_000


class LiveError(ValueError):
    """A report that cannot be read; the text says why."""


_Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_ -]{0,200}\Z")]
_Url = Annotated[str, msgspec.Meta(pattern=r"^[!-~]{0,500}\Z")]


class _Point(msgspec.Struct):
    row: _Count
    column: _Count = 1


class _Other(msgspec.Struct):
    message: str
    filename: str
    location: _Point


class _Seen(msgspec.Struct):
    """A finding as `torchsan run --report out.json` writes it."""

    code: str
    name: _Name
    message: str
    filename: str
    location: _Point
    group: _Name
    fingerprint: str
    severity: Severity = Severity.ERROR
    end_location: _Point | None = None
    help: str = ""
    url: _Url = ""
    related: list[_Other] = []
    step: int | None = None
    ranks: list[int] = []
    count: int = 1
    details: dict[str, Any] = {}

    @property
    def number(self) -> int:
        return int(self.code[2:])


def read(path: Path) -> list[_Seen]:
    """The findings in a report of torchsan.

    Raises:
        LiveError: it cannot be read, or is no such report.
    """
    try:
        seen = msgspec.json.decode(read_bytes(path, _MOST_BYTES), type=list[_Seen])
    except OSError as error:
        raise LiveError(f"{path}: cannot be read: {describe(error)}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LiveError(f"{path}: no JSON report of torchsan ({error})") from None
    for one in seen:
        if not re.fullmatch(r"TS\d{1,6}", one.code):
            raise LiveError(f"{path}: no JSON report of torchsan ({one.code!r} is no code of its)")
    return seen


class Merged(msgspec.Struct):
    """The findings of both, in order, and a line that says what became of the report."""

    findings: list[Finding]
    note: str


def merge(path: Path, seen: Sequence[_Seen], findings: Sequence[Finding], parts: Parts,
          wants: Callable[[int], bool]) -> Merged:
    """The findings of the last run, those that the report at `path` saw too marked, and what only it saw in the
    judged files added. `wants` tells whether a pitfall was asked for."""
    places = {os.path.abspath(finding.location.filename) for finding in findings} | parts.judged
    told = list(findings)
    confirmed: set[int] = set()
    only: list[Finding] = []
    elsewhere = changed = met = 0
    for one in seen:
        if not wants(one.number):
            continue
        file = _file(one.filename, path, places)
        if file is None:
            elsewhere += 1
            continue
        row = _row_now(one, file, parts)
        same = [at for at, finding in enumerate(findings) if _is_same(one, row, file, finding)]
        met += bool(same)
        for at in same:
            if at not in confirmed:
                confirmed.add(at)
                told[at] = _marked(findings[at], one)
        if not same and row is None:
            changed += 1
        elif not same:
            only.append(_finding(one, file, row or 1))
    added = parts.fit(only)
    several = "" if len(seen) == 1 else "s"
    note = f"{met} of {len(seen)} live finding{several} in the source, too; {len(added)} live only"
    if changed:
        note += f"; {changed} left out: their lines have changed since"
    if elsewhere:
        note += f"; {elsewhere} in other files"
    return Merged(sorted([*told, *added], key=lambda finding: finding.sort_key), note)


def _file(name: str, report: Path, places: set[str]) -> str | None:
    """The judged file that the report means: seen from here, from the report's folder, or the only one with that end."""
    for folder in (os.getcwd(), os.path.dirname(os.path.abspath(report))):
        path = os.path.normpath(os.path.join(folder, name))
        if path in places:
            return path
    end = os.sep + os.path.normpath(name).lstrip(os.sep + ".")
    ends = [path for path in places if path.endswith(end)]
    return ends[0] if len(ends) == 1 else None


def _row_now(one: _Seen, file: str, parts: Parts) -> int | None:
    """The row that has the text of the report's line today, the nearest where several have. None where none has."""
    wanted = one.fingerprint.partition(":")[0]
    source = parts.source(file)
    probe = Finding(one.code, one.name, "", Location(file, 1), one.group)
    rows = [
        row for row, line in enumerate(source.lines() if source is not None else (), 1)
        if probe.fingerprint(line) == wanted
    ]
    return min(rows, key=lambda row: abs(row - one.location.row), default=None)


def _is_same(one: _Seen, row: int | None, file: str, finding: Finding) -> bool:
    """Whether a finding of the source is what the run saw: the same pitfall, at the same line or at one that is related
    to it in either."""
    if finding.number != one.number or os.path.abspath(finding.location.filename) != file:
        return False
    if row is None:
        return False
    if finding.location.row == row:
        return True
    moved = row - one.location.row
    near = {other.location.row + moved for other in one.related if other.filename == one.filename}
    return finding.location.row in near or row in {
        item.location.row for item in finding.related if item.location.filename == finding.location.filename
    }


def _marked(finding: Finding, one: _Seen) -> Finding:
    times = "once" if one.count == 1 else f"{one.count:,} times"
    return msgspec.structs.replace(
        finding, message=f"{finding.message} (seen live {times})", step=one.step, ranks=tuple(one.ranks),
        count=one.count,
    )


def _finding(one: _Seen, file: str, row: int) -> Finding:
    moved = row - one.location.row
    end = one.end_location
    at = Location(
        file, row, one.location.column,
        end.row + moved if end is not None and end.row >= one.location.row else None,
        end.column if end is not None and end.row >= one.location.row else None,
    )
    related = tuple(
        Related(Location(file, item.location.row + moved, item.location.column), item.message)
        for item in one.related if item.filename == one.filename
    )
    return Finding(
        one.code, one.name, f"{one.message} (seen live alone)", at, one.group, one.severity, one.help, one.url, related,
        step=one.step, ranks=tuple(one.ranks), count=one.count, details=one.details,
    )
