"""Each finding with its source line, the other lines that matter, and how to mend it; coloured on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TextIO

import msgspec

from torchlint.findings import Finding
from torchlint.report import Context, clean, fixable_line
from torchlint.report.style import COLOURS, coloured, width

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from torchlint.report.frame import Glyphs, Line

_WIDEST = 120
_MOST_ALIKE, _SHOWN = 8, 3  # findings that say the same are shown as they are up to here, and beyond it this many of them


def write(findings: Sequence[Finding], out: TextIO, context: Context) -> None:
    """Print the findings and, where the context knows the number of files, a last line that sums up."""
    console = _console(out) if coloured(out) else None
    if findings:
        _tell(findings, out, context, console)
    lines: list[Line] = []
    if context.told and not context.aside:
        from torchlint.report.concise import line_of

        lines += [[(line_of(note).rstrip("\n"), "")] for note in context.told]
    if context.files is not None:
        lines.append(_summary(findings, context))
        if fixable := fixable_line(findings, context):
            lines.append([("[*] ", "cyan"), (fixable, "")])
    for line in lines:
        if console is None:
            out.write("".join(text for text, _ in line) + "\n")
        else:
            console.print(_text(line))


def _console(out: TextIO) -> Console:
    from rich.console import Console

    # Our texts are no markup, and what looks like a number or a path in them is none of rich's business.
    # In a notebook, too, it goes to `out`: rich would rather display it.
    return Console(
        file=out, highlight=False, markup=False, emoji=False, soft_wrap=True, force_terminal=True, force_jupyter=False
    )


def _tell(findings: Sequence[Finding], out: TextIO, context: Context, console: Console | None) -> None:
    from torchlint.report.frame import layout  # most runs find nothing, and need not load it

    glyphs = _glyphs(out)
    findings, again = grouped(findings)
    if console is None:
        for finding in findings:
            for line in layout(finding, context, None, glyphs):
                out.write("".join(text for text, _ in line).rstrip() + "\n")
            out.write("\n")
        for line in _places(again):
            out.write(line + "\n")
        return
    known = width(out)
    columns = None if known is None else max(40, min(known, _WIDEST))
    for finding in findings:
        for line in layout(finding, context, columns, glyphs):
            console.print(_text(line))
        console.print()
    for line in _places(again):
        console.print(_text([(line, "")]))


def grouped(findings: Sequence[Finding]) -> tuple[list[Finding], dict[tuple[str, str, str], list[Finding]]]:
    """The findings that are shown, and by what they say those of which the same was shown three times: a project that calls
    one deprecated function 48 times need not read it 48 times."""
    count = Counter(_says(finding) for finding in findings)
    shown: list[Finding] = []
    again: dict[tuple[str, str, str], list[Finding]] = {}
    seen: Counter = Counter()
    for finding in findings:
        says = _says(finding)
        seen[says] += 1
        if count[says] > _MOST_ALIKE and seen[says] > _SHOWN:
            again.setdefault(says, []).append(finding)
        else:
            shown.append(finding)
    return shown, again


def _says(finding: Finding) -> tuple[str, str, str]:
    return finding.code, finding.name, finding.message


def _places(again: dict[tuple[str, str, str], list[Finding]]) -> Iterator[str]:
    """Where else it is found, a line for each file."""
    for (code, name, message), findings in again.items():
        yield f"{code} {name}: the same in {len(findings)} more places: {clean(message)}"
        places: dict[str, list[str]] = {}
        for finding in findings:
            at = finding.location
            where = clean(at.filename) + ("" if at.cell is None else f":cell {at.cell}")
            places.setdefault(where, []).append(str(at.row))
        for where, rows in places.items():
            yield f"  {where}:{', '.join(rows)}"
        yield ""


def _glyphs(out: TextIO) -> Glyphs:
    from torchlint.report.frame import ASCII, Glyphs

    try:
        "".join(msgspec.structs.astuple(Glyphs())).encode(getattr(out, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return Glyphs()


def _summary(findings: Sequence[Finding], context: Context) -> Line:
    files = f"{context.files:,} file{'' if context.files == 1 else 's'}"
    if not findings:
        if context.problems or context.notes:
            return [(f"No mistakes found in what could be judged of {files}.", "yellow")]
        return [(f"No mistakes found in {files}.", "bold green")]
    counts = Counter(finding.severity.value for finding in findings)
    parts = [
        (f"{counts[word]} {word}{'' if counts[word] == 1 else 's'}", colour)
        for word, colour in COLOURS.items() if counts[word]
    ]
    line: Line = [("Found ", "bold")]
    for number, (text, colour) in enumerate(parts):
        if number:
            line.append((" and " if number == len(parts) - 1 else ", ", "bold"))
        line.append((text, f"bold {colour}"))
    touched = len({finding.location.filename for finding in findings})
    line.append((f" in {touched:,} of {files}." if touched != context.files else f" in {files}.", "bold"))
    return line


def _text(line: Line) -> Text:
    from rich.text import Text

    text = Text()
    for piece, style in line:
        text.append_text(_python(piece)) if style == "source" else text.append(piece, style)
    return text


@lru_cache(maxsize=1000)
def _python(code: str) -> Text:
    """A line of Python in the terminal's own colours."""
    from rich.syntax import Syntax

    text = Syntax("", "python", theme="ansi_dark").highlight(code)
    text.rstrip()
    return text
