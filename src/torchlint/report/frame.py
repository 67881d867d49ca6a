"""Lays a finding out as lines of styled pieces: the source lines that matter, marked and explained in one frame."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator

import msgspec
from rich.cells import cell_len

from torchlint.findings import Finding, Location
from torchlint.report import Context, clean
from torchlint.report.style import COLOURS

Piece = tuple[str, str]  # text and style; the style "source" asks for Python's colours
Line = list[Piece]
Lines = Callable[[Location], str | None]

_TAB = 4
_MIN_SOURCE = 20


class Glyphs(msgspec.Struct, frozen=True):
    """What the frame is drawn with."""

    top: str = "╭─"
    next: str = "├─"
    bar: str = "│"
    note: str = "├─"
    end: str = "╰─"
    gap: str = "┆"
    cut: str = "…"


ASCII = Glyphs("-->", ":::", "|", "=", "=", ":", "...")


class _Mark(msgspec.Struct, frozen=True):
    """A stretch to be underlined, and what is said about it."""

    location: Location
    text: str
    main: bool


def layout(finding: Finding, context: Context, width: int | None, glyphs: Glyphs) -> Iterator[Line]:
    """The lines that tell a finding. Text is wrapped and source is cut at `width` columns; not where it is None."""
    colour, lines = COLOURS[finding.severity.value], context.lines
    mark: Line = [(" ", ""), ("[*]", "cyan")] if context.is_fixable(finding) else []
    yield [
        (finding.severity.value, f"bold {colour}"), (" ", ""), (finding.code, f"bold {colour}"), (" ", ""),
        (finding.name, "bold"), *mark,
    ]
    for text in _wrapped(clean(finding.message), width, 2):
        yield [("  ", ""), *_prose(text, "")]
    marks = [_Mark(finding.location, "", True)]
    marks += [_Mark(item.location, clean(item.message), False) for item in finding.related]
    gutter = max(len(str(mark.location.row)) for mark in marks) + 1
    yield from _frame(marks, lines, width, glyphs, gutter, colour)
    notes = list(_notes(finding, context))
    for at, (label, text) in enumerate(notes):
        is_last = at == len(notes) - 1
        glyph = glyphs.end if is_last else glyphs.note
        indent = len(f"{glyph} {label}: ")
        wrapped = [text] if label == "see" else _wrapped(text, width, gutter + indent)
        for number, part in enumerate(wrapped):
            bar = "" if is_last or glyphs is ASCII else glyphs.bar
            head = [(f"{glyph} ", "blue"), (f"{label}: ", "bold")] if number == 0 else [(f"{bar:<{indent}}", "blue")]
            yield [(" " * gutter, ""), *head, *_prose(part, "dim" if label == "see" else "")]


def _notes(finding: Finding, context: Context) -> Iterator[tuple[str, str]]:
    seen = []
    if finding.step is not None:
        seen.append(f"first at step {finding.step}")
    if finding.count > 1:
        seen.append(f"{finding.count} times")
    if finding.ranks:
        seen.append(f"on rank{'s' if len(finding.ranks) > 1 else ''} {', '.join(map(str, finding.ranks))}")
    if seen:
        yield "seen", ", ".join(seen)
    if finding.details:
        yield "values", ", ".join(clean(f"{key} = {value}") for key, value in finding.details.items())
    if finding.help:
        yield "help", clean(finding.help)
    if finding.fix is not None:
        option = "--fix" if finding.fix.applicability == "safe" else "--fix --unsafe-fixes"
        yield "fix", f"{clean(finding.fix.message)} ({option})"
    if see := finding.url or context.explained_by(finding):
        yield "see", see


def _frame(
    marks: list[_Mark], lines: Lines, width: int | None, glyphs: Glyphs, gutter: int, colour: str
) -> Iterator[Line]:
    blank: Line = [(f"{' ' * gutter}{glyphs.bar}", "blue")]
    for number, (part, (name, cell)) in enumerate(_by_file(marks)):
        first = next((mark.location for mark in part if mark.main), part[0].location)
        where = clean(name) + ("" if cell is None else f":cell {cell}") + f":{first.row}:{first.column}"
        corner = glyphs.next if number else glyphs.top
        yield [(f"{' ' * gutter}{corner} ", "blue"), (where, "blue" if number else "bold blue")]
        before = None
        for mark in part:
            row = mark.location.row
            source = lines(mark.location)
            if source is None:
                if mark.text:
                    yield [*blank, (f" line {row}: ", ""), *_prose(mark.text, "")]
                continue
            if before is None:
                yield blank
            elif row == before + 2 and (between := lines(Location(name, before + 1, cell=cell))) is not None:
                shown, _, _ = _cut(between, 1, width, gutter, glyphs)
                yield [(f"{before + 1:>{gutter - 1}} {glyphs.bar} ", "blue"), *shown]
            elif row > before + 1:
                yield [(f"{' ' * gutter}{glyphs.gap}", "blue")]
            shown, lead, length = _cut(source, mark.location.column, width, gutter, glyphs, mark.location)
            if row != before:
                yield [(f"{row:>{gutter - 1}} {glyphs.bar} ", "blue"), *shown]
            yield from _underline(mark, blank, lead, length, width, gutter, colour)
            before = row
    yield blank


def _underline(
    mark: _Mark, blank: Line, lead: int, length: int, width: int | None, gutter: int, colour: str
) -> Iterator[Line]:
    """The line of carets below a source line and what is said about the stretch: beside them if it fits, else below."""
    style = f"bold {colour}" if mark.main else "bold blue"
    under: Line = [*blank, (" " * (lead + 1), ""), (("^" if mark.main else "-") * length, style)]
    if not mark.text:
        yield under
        return
    beside = gutter + lead + length + 3
    text_style = "blue" if not mark.main else colour
    if width is None or beside + cell_len(mark.text) <= width:
        yield [*under, (" ", ""), *_prose(mark.text, text_style)]
        return
    yield under
    indent = min(lead, max(0, width - gutter - 42))
    for part in _wrapped(mark.text, width, gutter + indent + 2):
        yield [*blank, (" " * (indent + 1), ""), *_prose(part, text_style)]


def _by_file(marks: Iterable[_Mark]) -> list[tuple[list[_Mark], tuple[str, int | None]]]:
    """The marks by file and notebook cell, that of the finding first, each in order of rows."""
    parts: dict[tuple[str, int | None], list[_Mark]] = {}
    for mark in marks:
        parts.setdefault((mark.location.filename, mark.location.cell), []).append(mark)
    return [
        (sorted(part, key=lambda mark: (mark.location.row, not mark.main, mark.location.column)), key)
        for key, part in parts.items()
    ]


def _cut(
    source: str, column: int, width: int | None, gutter: int, glyphs: Glyphs, at: Location | None = None
) -> tuple[Line, int, int]:
    """A source line made fit for the width, how many columns stand before the marked stretch, and how many it takes."""
    column = max(1, min(column, len(source) + 1))
    end = len(source.rstrip()) + 1
    if at is not None and (at.end_row or at.row) == at.row and at.end_column:
        end = min(at.end_column, len(source) + 1)
    end = max(end if at is not None and at.end_column else column + 1, column + 1)
    parts = (source[:column - 1], source[column - 1:end - 1], source[end - 1:])
    before, marked, after = (clean(part).expandtabs(_TAB) for part in parts)
    room = max(_MIN_SOURCE, (width or 160) - gutter - 3)
    text = clean(before + marked + after)  # again: what must not be read may begin in one part and end in the next
    lead, length = cell_len(before), max(1, cell_len(marked))
    if cell_len(text) <= room:
        return [(text.rstrip(), "source")], lead, length
    start = 0
    if lead + min(length, room // 2) > room - len(glyphs.cut):
        start = max(0, lead - room // 4)
    piece = _columns(text, start, room - (2 if start else 1) * len(glyphs.cut))
    shown: Line = [(piece, "source"), (glyphs.cut, "dim")]
    if start + cell_len(piece) >= cell_len(text.rstrip()):
        shown.pop()
    if start:
        shown.insert(0, (glyphs.cut, "dim"))
        lead = lead - start + len(glyphs.cut)
    return shown, lead, max(1, min(length, room - lead))


def _columns(text: str, start: int, count: int) -> str:
    """The part of a text that takes the terminal's columns from `start` on."""
    taken, at = [], 0
    for char in text:
        size = cell_len(char)
        if at >= start and at + size <= start + count:
            taken.append(char)
        at += size
    return "".join(taken)


def _wrapped(text: str, width: int | None, indent: int) -> list[str]:
    # What stands in front of a line is blank: GitHub would take one that goes on with :: for a command.
    return [f":\N{REPLACEMENT CHARACTER}{part[2:]}" if part.startswith("::") else part for part in _parts(text, width, indent)]


def _parts(text: str, width: int | None, indent: int) -> list[str]:
    if width is None:
        return [text.strip()]
    return textwrap.wrap(text, max(30, width - indent), break_long_words=False, break_on_hyphens=False) or [""]


def _prose(text: str, style: str) -> Line:
    """Text with what stands between backticks made bold."""
    parts = re.split(r"(`[^`]+`)", text)
    bold = f"{style} bold".strip()
    return [(part, bold if part.startswith("`") and len(part) > 2 else style) for part in parts if part]
