"""How findings look to people: torchlint's own report, with paths as short as the reader knows them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

import msgspec

from torchlint import __version__
from torchlint.findings import Finding, Location
from torchlint.report import Context, clean, place, write
from torchsan.own import io, os, re
from torchsan.program import cells
from torchsan.program.lines import line_of
from torchsan.report import wording

if TYPE_CHECKING:
    from torchsan.program.where import Where  # which needs torch


def source_line(location: Location) -> str | None:
    """The source line that a location begins on; notebooks and interactive input too, where Python still has it."""
    line = line_of(location.filename, location.row)
    return line.rstrip("\r\n") if line else None


def code_at(place: Where | None) -> str:
    """The code at a place: the expression where Python keeps columns, or else the line; nothing where there is none."""
    span = None if place is None else place.location()
    line = None if span is None else source_line(span)
    if span is None or line is None:
        return ""
    if span.end_column is not None and span.end_row in (None, span.row):
        return line[span.column - 1:span.end_column - 1]
    return line.strip()


def context(base: str | None = None, **more: object) -> Context:
    """What torchlint's reports want to know. `base` is the folder that paths are told from."""

    def lines(location: Location) -> str | None:
        path = _cells.get(location.filename) or os.path.join(base or os.getcwd(), location.filename)
        return source_line(msgspec.structs.replace(location, filename=path))

    known: dict[str, object] = {"rules": wording.rules().rules, **more}
    return Context(tool="torchsan", version=__version__, prefix="TS", lines=lines, **known)  # type: ignore[arg-type]


def shortened(findings: Iterable[Finding], base: str) -> list[Finding]:
    """The findings with paths below `base` told from there."""
    return [
        msgspec.structs.replace(
            finding,
            location=_short(_spanned(finding.location), base),
            related=tuple(
                msgspec.structs.replace(r, location=_short(_spanned(r.location), base)) for r in finding.related
            ),
        )
        for finding in findings
    ]


def _spanned(location: Location) -> Location:
    """A place of which only the row is known, as the text that stands on it."""
    line = source_line(location) if location.end_column is None and location.column == 1 else None
    if not line or not line.strip():
        return location
    code = line.split(" #", 1)[0].rstrip() or line
    start = len(line) - len(line.lstrip()) + 1
    return msgspec.structs.replace(location, column=start, end_row=location.row, end_column=max(start, len(code)) + 1)


def _short(location: Location, base: str) -> Location:
    inside = os.path.join(base, "")
    cell = cell_of(location.filename)
    if cell is not None:
        return msgspec.structs.replace(location, filename=cell)
    if not location.filename.startswith(inside):
        return location
    return msgspec.structs.replace(location, filename=location.filename[len(inside):])


_cells: dict[str, str] = {}  # files that a notebook's cells pretend to be, by the cells' names


def cell_of(filename: str) -> str | None:
    """What a notebook calls the cell whose code has this file name ("Cell In[3]"); None where it is none of a cell."""
    cell = cells.name_of(filename)
    if cell is not None:
        _cells[cell] = filename
    return cell


def tell(findings: Sequence[Finding], out: TextIO, base: str, format: str = "full") -> None:
    """Print the findings as torchlint would."""
    write(format, [_brief(finding) for finding in shortened(findings, base)], out, context(base))


def to_stderr(finding: Finding, base: str) -> None:
    """Print one finding as it comes, between the lines of the program."""
    stream = sys.stderr
    if stream is None:
        return
    flush()
    try:
        if stream.isatty():
            stream.write("\r\x1b[K")  # off the line of a progress bar, which draws itself anew
        tell([finding], stream, base)
        stream.flush()
    except (OSError, ValueError):
        pass  # standard error is closed: the report still has it


def told(findings: Sequence[Finding], steps: int) -> str:
    """ "3 findings in 40 optimizer steps"."""
    return f"{counted(len(findings), 'finding') if findings else 'nothing found'} in {counted(steps, 'optimizer step')}"


def flush() -> None:
    """What the program printed before stands before what we say."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        pass


def _brief(finding: Finding) -> Finding:
    """Without the values that the message has already."""
    told = {key: value for key, value in finding.details.items() if not _is_told(value, finding.message)}
    return msgspec.structs.replace(finding, details={key: _plain(value) for key, value in told.items()})


def _is_told(value: object, message: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(_plain(value))}(?!\w)", message) is not None


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def as_text(findings: Sequence[Finding], base: str | None = None) -> str:
    """The findings in full, uncoloured, whatever FORCE_COLOR says: it may end in a log, and notebooks set it."""
    out = io.StringIO()
    tell(findings, out, base or _here())
    return re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).rstrip("\n")


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder is gone
        return os.sep


def counted(count: int, noun: str) -> str:
    """ "1 finding", "2 findings"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def summary(findings: Sequence[Finding], base: str) -> list[str]:
    """A line for each finding: where, what, how often. The most frequent mistakes are no worse than the others, so the
    order is that of appearance."""
    short = shortened(findings, base)
    rows = [(place(f.location), f"{f.code} {f.name}", how_often(f)) for f in short]
    widths = [max((len(row[at]) for row in rows), default=0) for at in (0, 1)]
    return [clean(f"{at:<{widths[0]}}  {what:<{widths[1]}}  {often}".rstrip()) for at, what, often in rows]


def how_often(finding: Finding) -> str:
    """ "once", "47 times"; with the ranks where there are several."""
    often = "once" if finding.count == 1 else f"{finding.count:,} times"
    if finding.ranks:
        often += f" on rank{'' if len(finding.ranks) == 1 else 's'} {', '.join(map(str, finding.ranks))}"
    return often
