"""Notebooks as Python text: code cells joined, IPython's own syntax put out of the way, rows kept."""

from __future__ import annotations

import ast
import hashlib
import re
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any

import msgspec

from torchlint.files.garbage import no_gc
from torchlint.files.limits import too_much
from torchlint.files.not_python import reason
from torchlint.files.source import Problem, Source, SourceError, unify_line_ends


class _Cell(msgspec.Struct):
    cell_type: str = "code"
    source: str | list[str] | None = None
    input: str | list[str] | None = None  # the name of `source` before nbformat 4
    language: str = ""


class _Sheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell] | None = None
    worksheets: list[_Sheet] | None = None
    metadata: dict[str, Any] = {}


# Cell magics whose body is Python run in the notebook itself.
_PYTHON_CELLS = {"time", "timeit", "capture", "prun", "python", "python3", "memit", "mprun", "lprun", "torchlint"}
# Patterns take time in proportion to the line: no two parts that meet can both match a stretch of blanks.
_TARGET = re.compile(r"[\w.,\s*\[\]'\"()]+")
_COMMAND = re.compile(r"\s*(?:!|%(?=[A-Za-z]))")
_HELP = re.compile(r"(?:\?{1,2} ?[%\w.*]+|%{0,2}[\w.*\[\]'\"]+ ?\?{1,2}) ?;? ?(?:#.*)?")  # blanks are single ones
_TIMED = re.compile(r"^(?P<indent>\s*)%time\s(?P<code>\s*[^\s-].*)$")
_LEXEME = re.compile(
    r"""(?P<comment>\#.*)|(?P<triple>\"{3}|'{3})|(?P<string>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(?P<open>[(\[{])"""
    r"""|(?P<close>[)\]}])"""
)


# What was read last: who mends a notebook asks for its two texts, before and after, again and again.
_KEPT = 2
_last: tuple[tuple[tuple[str, bytes], Source], ...] = ()


def parse_notebook(filename: str, raw: bytes) -> Source:
    """The Python code of a notebook. A cell that does not parse is left out and becomes one of the source's problems;
    a notebook in another language is empty.

    Raises:
        SourceError: this is no notebook, or it is too large to judge.
    """
    global _last
    name = filename, hashlib.sha256(raw).digest()
    source = next((known for key, known in _last if key == name), None)
    if source is None:
        with no_gc():
            source = _read(filename, raw)
        _last = ((name, source), *_last)[:_KEPT]
    return source


def _read(filename: str, raw: bytes) -> Source:
    try:
        book = msgspec.json.decode(raw.removeprefix(b"\xef\xbb\xbf"), type=_Notebook)
    except UnicodeDecodeError:
        raise SourceError(Problem(filename, "broken notebook: not UTF-8")) from None
    except msgspec.ValidationError as error:
        raise SourceError(Problem(filename, f"broken notebook: {_lower(error)}")) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise SourceError(Problem(filename, f"broken notebook: not valid JSON ({_lower(error)})")) from None
    cells = book.cells
    if cells is None:
        if book.worksheets is None:
            raise SourceError(Problem(filename, "broken notebook: it has no list of cells"))
        cells = [cell for sheet in book.worksheets for cell in sheet.cells]
    text: list[str] = []
    shown: list[str] = []
    rows: list[tuple[int, int]] = []
    problems: list[Problem] = []
    size = 0
    if _language(book.metadata) not in ("", "python", "ipython"):
        cells = []
    for number, cell in enumerate(cells, 1):
        if cell.cell_type != "code" or cell.language not in ("", "python"):
            continue
        given = cell.source if cell.source is not None else cell.input or ""
        content = unify_line_ends(given if isinstance(given, str) else "".join(given))
        if not content.lstrip().startswith("%%"):
            size += len(content)
            why = too_much(content, size)
            if why is not None:
                raise SourceError(Problem(filename, why, cell=number))
        lines = content.split("\n")
        code, error = _python(lines)
        if error is not None:
            problems.append(Problem(filename, f"this cell does not parse: {reason(error, lines)}", error.lineno, number))
        text += code
        shown += lines
        rows += [(number, row) for row in range(1, len(code) + 1)]
    return Source(filename, "\n".join(text) + "\n" if text else "", tuple(rows), tuple(problems), "\n".join(shown))


def _language(metadata: dict[str, Any]) -> str:
    """The notebook's language in lower case, or ""."""
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        part = metadata.get(key)
        if isinstance(part, dict) and isinstance(part.get(name), str):
            return part[name].lower()
    return ""


def _lower(error: Exception) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]


def _python(lines: list[str]) -> tuple[list[str], SyntaxError | None]:
    """The cell's lines as plain Python, as many as before, and why they had to be blanked, if so."""
    if _parses("\n".join(lines)) is None:
        return lines, None
    if re.match(r"[ \t]", next((line for line in lines if line.strip()), "")):
        # IPython takes a cell that is indented as a whole.
        lines = textwrap.dedent("\n".join(lines)).split("\n")
    plain = _without_magics(lines)
    error = _parses("\n".join(plain))
    return (plain, None) if error is None else ([""] * len(lines), error)


def _parses(code: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or "nested too deeply", ("", 1, 1, ""))
    return None


def _without_magics(lines: list[str]) -> list[str]:
    """The lines with what only IPython understands replaced by what means nothing to anybody."""
    begin = 0
    for number, line in enumerate(lines):
        magic = re.match(r"%%(!|\w*)", line.lstrip())
        if magic and magic[1] not in _PYTHON_CELLS:
            return [""] * len(lines)
        if magic:
            begin = number + 1
        elif line.strip():
            break
    plain = [""] * begin
    lines = lines[begin:]
    going_on = False  # inside a magic continued by a backslash
    for line, starts in zip(lines, _statement_starts(lines)):
        if going_on:
            plain.append("")
            going_on = line.rstrip().endswith("\\")
            continue
        changed = _plain_line(line) if starts else line
        going_on = changed is not line and line.rstrip().endswith("\\")
        plain.append(changed)
    return plain


def _plain_line(line: str) -> str:
    """A line that starts a statement, without IPython's syntax."""
    stripped = line.lstrip()
    indent = line[: len(line) - len(stripped)]
    timed = _TIMED.match(line)
    if timed:
        # As long as "%time", so that columns stay.
        return f"{timed['indent']}pass; {timed['code']}"
    if stripped.startswith(("%", "!", "?")) or "?" in line and _HELP.fullmatch(" ".join(line.split())):
        return f"{indent}pass"
    head, equals, rest = line.partition("=")
    command = _COMMAND.match(rest)
    if command and _TARGET.fullmatch(head):
        # What IPython turns it into: a call of which nothing can be known.
        return f"{head}{equals}{rest[: command.end() - 1]}get_ipython()"
    return line


def _statement_starts(lines: list[str]) -> Iterator[bool]:
    """For every line, whether a statement may start on it: not inside brackets, strings, or after a backslash."""
    depth, quote, joined = 0, "", False
    for line in lines:
        yield not (depth or quote or joined)
        joined = False
        at = 0
        if not (depth or quote) and _plain_line(line) is not line:
            continue
        while at < len(line):
            if quote:
                end = line.find(quote, at)
                if end < 0:
                    break
                quote, at = "", end + 3
                continue
            found = _LEXEME.search(line, at)
            if not found:
                break
            at = found.end()
            if found["triple"]:
                quote = found["triple"]
            elif found["open"]:
                depth += 1
            elif found["close"]:
                depth = max(0, depth - 1)
            elif found["comment"]:
                break
        else:
            continue
        joined = not quote and line.endswith("\\")
