"""Whole statements, by rows: where one stands, and how rows go into a block, out of it, or somewhere else."""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import dataclass
from functools import lru_cache

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.findings import Location
from torchlint.rules.mends.changes import Change


@dataclass(slots=True, frozen=True)
class Place:
    """A statement of a file, the block that it stands in, and what is around it, innermost last. `alone` tells that it
    shares its rows with no other statement."""

    statement: ast.stmt
    block: list[ast.stmt]
    index: int
    parents: tuple[ast.AST, ...]
    alone: bool

    @property
    def rest(self) -> list[ast.stmt]:
        """The statements behind it in its block."""
        return self.block[self.index + 1 :]

    @property
    def scope(self) -> ast.AST:
        """The function that it stands in, or the file."""
        return next((node for node in reversed(self.parents) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), self.parents[0])


def text_of(parsed: Parsed) -> str:
    """The whole text of the file that a tree is of."""
    return "".join(parsed.facts.lines)


@lru_cache(maxsize=6)  # the files that one run goes through by turns
def tree_of(text: str) -> ast.Module:
    """The C parser's tree of a whole file."""
    return ast.parse(text)


def call_at(site: Site) -> ast.Call | None:
    """The call at a place as the C parser gives it; None where it is none, or is not read."""
    try:
        call = ast.parse(site.text().strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return call if isinstance(call, ast.Call) else None


def statement_at(site: Site) -> Place | None:
    """The innermost statement around a place."""
    row = site.location().row
    node: ast.AST = tree_of(text_of(site.parsed))
    parents: tuple[ast.AST, ...] = ()
    found = None
    while True:
        step = _inside(node, row)
        if step is None:
            return found
        parents += (node,)
        block, index = step
        node = block[index]
        near = [*block[max(index - 1, 0) : index], *block[index + 1 : index + 2]]
        header = getattr(parents[-1], "lineno", 0)
        shared = header == node.lineno or any(overlap(one, node) for one in near)
        found = Place(node, block, index, parents, not shared)


def overlap(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether two statements have a row in common."""
    return one.lineno <= other.end_lineno and other.lineno <= one.end_lineno


def _inside(node: ast.AST, row: int) -> tuple[list[ast.stmt], int] | None:
    for block in blocks_of(node):
        for index, item in enumerate(block):
            if first_row(item) <= row <= item.end_lineno:
                return block, index
    return None


def blocks_of(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements directly in a node."""
    inner = [node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    found = [getattr(item, name, None) for item in inner for name in ("body", "orelse", "finalbody")]
    return [block for block in found if isinstance(block, list)]


def first_row(statement: ast.stmt) -> int:
    """The first row of a statement, its decorators included."""
    return min([statement.lineno, *(item.lineno for item in getattr(statement, "decorator_list", ()))])


def indent_of(parsed: Parsed, row: int) -> str:
    """The white space that a row begins with."""
    line = parsed.facts.lines[row - 1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def deeper(parsed: Parsed, row: int) -> str:
    """The white space by which the block that a row begins is deeper than it, or else its own block than the one around it; four
    columns where none is."""
    node: ast.AST = tree_of(text_of(parsed))
    around = node
    while (step := _inside(node, row)) is not None:
        around, node = node, step[0][step[1]]
    inner = getattr(node, "body", None) if getattr(node, "lineno", 0) == row else None
    pairs = [(row, first_row(inner[0]))] if isinstance(inner, list) and inner else []
    pairs += [(around.lineno, row)] if isinstance(around, ast.stmt) else []
    for outer, here in ((indent_of(parsed, one), indent_of(parsed, other)) for one, other in pairs):
        if len(outer) < len(here) and here.startswith(outer):
            return here[len(outer) :]
    return "    "


def indented(parsed: Parsed, first: int, last: int, by: str) -> list[Change] | None:
    """Puts `by` before each row from `first` to `last`. Empty rows stay, as do rows that begin inside a string, and
    comments that stand outside of the block. None where strings cannot be told."""
    inside = _in_strings(text_of(parsed))
    if inside is None:
        return None
    rows = [row for row in range(first, last + 1) if parsed.facts.lines[row - 1].strip() and row not in inside]
    comments = {row for row in rows if parsed.facts.lines[row - 1].lstrip().startswith("#")}
    depth = min((len(indent_of(parsed, row)) for row in rows if row not in comments), default=0)
    return [insert(parsed, row, by) for row in rows if row not in comments or len(indent_of(parsed, row)) >= depth]


def outdented(parsed: Parsed, first: int, last: int, by: str) -> list[Change] | None:
    """Takes `by` away from the start of each row from `first` to `last`, as far as it is there."""
    inside = _in_strings(text_of(parsed))
    if inside is None:
        return None
    changes = []
    for row in range(first, last + 1):
        there = min(len(indent_of(parsed, row)), len(by))
        if there and row not in inside and parsed.facts.lines[row - 1].strip():
            changes.append(Change(parsed, Location(parsed.facts.path, row, 1, row, there + 1), ""))
    return changes


def enclosed(parsed: Parsed, first: int, last: int, header: str) -> list[Change] | None:
    """Puts whole rows into a block of their own, such as `with torch.no_grad():`."""
    by = deeper(parsed, first)
    changes = indented(parsed, first + 1, _with_comments(parsed, first, last), by)
    if changes is None:
        return None
    return [insert(parsed, first, f"{indent_of(parsed, first)}{header}\n{by}"), *changes]


def _with_comments(parsed: Parsed, first: int, last: int) -> int:
    """The last row of a block with the comments at its end: they are deeper than its first row."""
    end = last
    for row in range(last + 1, len(parsed.facts.lines) + 1):
        text = parsed.facts.lines[row - 1].strip()
        if text.startswith("#") and len(indent_of(parsed, row)) > len(indent_of(parsed, first)):
            end = row
        elif text:
            break
    return end


def beside(parsed: Parsed, at: Location) -> str:
    """What stands between an argument and a new one beside it: a new row, where it has a row of its own, or else a space."""
    line = parsed.facts.lines[at.row - 1]
    before, behind = line[: at.column - 1], parsed.facts.lines[at.end_row - 1][at.end_column - 1 :]
    return " " if before.strip() or behind.strip() not in ("", ",") else f"\n{before}"


def insert(parsed: Parsed, row: int, text: str) -> Change:
    """Puts text at the start of a row."""
    return Change(parsed, Location(parsed.facts.path, row, 1, row, 1), text)


def removed(parsed: Parsed, first: int, last: int) -> Change:
    """Takes whole rows away."""
    return Change(parsed, Location(parsed.facts.path, first, 1, last + 1, 1), "")


def docstring_end(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many statements of a function's body are its docstring."""
    return 0 if ast.get_docstring(function, clean=False) is None else 1


@lru_cache(maxsize=2)
def _in_strings(text: str) -> frozenset[int] | None:
    """The rows that begin inside a string; None where the text does not split into tokens."""
    found: set[int] = set()
    open_rows: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            name = tokenize.tok_name[token.type]
            if name in ("FSTRING_START", "TSTRING_START"):
                open_rows.append(token.start[0])
            elif name in ("FSTRING_END", "TSTRING_END"):
                found.update(range(open_rows.pop() + 1, token.end[0] + 1))
            elif name == "STRING":
                found.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        return None
    return frozenset(found)
