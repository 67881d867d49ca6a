"""Each finding with its source line, the other lines that matter, and how to mend it; coloured on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TextIO

import msgspec

from torchlint.findings import Finding
from torchlint.report import Context, fixable_line
from torchlint.report.style import COLOURS, coloured, width

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from torchlint.report.frame import Glyphs, Line

_WIDEST = 120


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
    if console is None:
        for finding in findings:
            for line in layout(finding, context, None, glyphs):
                out.write("".join(text for text, _ in line).rstrip() + "\n")
            out.write("\n")
        return
    known = width(out)
    columns = None if known is None else max(40, min(known, _WIDEST))
    for finding in findings:
        for line in layout(finding, context, columns, glyphs):
            console.print(_text(line))
        console.print()


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
