"""Where a node of Python's own tree stands in a file, what is written there, and which parentheses only group."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

_LAST_WORD = re.compile(r"\w+\Z")
# Behind a word, a parenthesis belongs to a call or a definition, unless the word is one of these.
_KEYWORDS = frozenset(
    """return in not and or if else elif while for yield await lambda is assert del raise from except as""".split()
)
_CLOSING = frozenset(")]}\"'")
_ENDS = frozenset(word[-2:] for word in _KEYWORDS)
_ENOUGH = 10  # characters of a row's end: more than a keyword has
_COMMENT = re.compile(r"#[^\n]*")
Point = tuple[int, int]  # a row of the tree, and a column in bytes


class Stretch(NamedTuple):
    """Where something stands that has no node of its own, told as nodes tell it."""

    lineno: int
    col_offset: int
    end_lineno: int
    end_col_offset: int


class Rows:
    """The rows of a file for a tree whose rows are fewer by `shift`.

    `grouped` are the places right behind a parenthesis that may do no more than group, with the place of that parenthesis.
    """

    __slots__ = ("grouped", "lines", "opening", "shift")

    def __init__(self, lines: list[str], shift: int, first: int, last: int):
        self.lines, self.shift = lines, shift
        self.grouped: dict[Point, Point] = {}
        for row, line in enumerate(lines[first - 1 : last], first):
            at = line.find("(")
            while at >= 0:
                before = line[at - 1 : at]
                # Most are of calls: right behind a name that ends as no keyword does.
                if not (before.isalnum() or before == "_") or line[max(at - 2, 0) : at] in _ENDS:
                    self._note(line, row, at)
                at = line.find("(", at + 1)
        self.opening = {opened: behind for behind, opened in self.grouped.items()}

    def move(self, lines: list[str], by: int) -> None:
        """Takes the rows of a file in which the same text stands lower by some rows."""
        self.lines = lines
        self.shift += by

    def _note(self, line: str, row: int, at: int) -> None:
        before = line[:at].rstrip()[-_ENOUGH:]
        word = _LAST_WORD.search(before)
        if word[0] not in _KEYWORDS if word else before[-1:] in _CLOSING:
            return
        behind_row, there = row, line
        behind = len(line) - len(line[at + 1 :].lstrip())
        while behind >= len(there) or there[behind] == "#":
            if behind_row >= len(self.lines):
                return
            there = self.lines[behind_row]
            behind_row += 1
            behind = len(there) - len(there.lstrip())
        self.grouped[behind_row - self.shift, self._bytes(behind_row, behind)] = row - self.shift, self._bytes(row, at)

    def _bytes(self, row: int, column: int) -> int:
        line = self.lines[row - 1]
        return column if line.isascii() else len(line[:column].encode())

    def column(self, row: int, column: int) -> int:
        """A column of the tree in characters."""
        line = self.lines[row + self.shift - 1]
        return column if line.isascii() else len(line.encode()[:column].decode())

    def between(self, start: Point, end: Point) -> str:
        """The text from one place to another."""
        first, last = start[0] + self.shift, end[0] + self.shift
        begin, stop = self.column(*start), self.column(*end)
        if first == last:
            return self.lines[first - 1][begin:stop]
        return "".join((self.lines[first - 1][begin:], *self.lines[first : last - 1], self.lines[last - 1][:stop]))

    def place(self, node: ast.AST, own_parentheses: bool) -> tuple[Point, Point]:
        """From where to where a node goes in the file, in characters, without the parentheses that are its own."""
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        if type(node) is ast.GeneratorExp:
            last = (node.generators[-1].ifs or [node.generators[-1].iter])[-1]
            start, end = (node.elt.lineno, node.elt.col_offset), (last.end_lineno, last.end_col_offset)
        elif own_parentheses and type(node) is ast.Tuple and start in self.opening:
            start = self.opening[start]
            inside = self.between(start, end)[:-1].rstrip()
            rows = inside.count("\n")
            row = start[0] + rows
            column = len(inside) - inside.rfind("\n") - 1 if rows else self.column(*start) + len(inside)
            return (start[0] + self.shift, self.column(*start)), (row + self.shift, column)
        return (start[0] + self.shift, self.column(*start)), (end[0] + self.shift, self.column(*end))

    def text(self, node: ast.AST) -> str:
        """What is written for a node, without the parentheses around it."""
        row, end_row = node.lineno, node.end_lineno
        if row == end_row:
            line = self.lines[row + self.shift - 1]
            if line.isascii():
                return line[node.col_offset : node.end_col_offset]
        return self.between((row, node.col_offset), (end_row, node.end_col_offset))

    def before(self, node: ast.AST) -> str:
        """What stands before a node in its row."""
        return self.lines[node.lineno + self.shift - 1][: self.column(node.lineno, node.col_offset)]

    def begins_with(self, node: ast.stmt, word: str) -> bool:
        """Whether a statement is written with a word first."""
        line = self.lines[node.lineno + self.shift - 1]
        return line.startswith(word, self.column(node.lineno, node.col_offset))

    def in_parentheses(self, node: ast.Tuple | ast.GeneratorExp) -> bool:
        """Whether a tuple or generator is written in parentheses of its own: not those of a call, or of its first item."""
        start = node.lineno, node.col_offset
        if type(node) is ast.GeneratorExp:
            return start in self.opening
        if not node.elts:
            return True
        if start not in self.opening:
            return False
        first = node.elts[0]
        opened = _bare(self.between(start, (first.lineno, first.col_offset))).count("(")
        if len(node.elts) > 1:
            second = node.elts[1]
            behind = second.lineno, second.col_offset
        else:
            behind = node.end_lineno, node.end_col_offset
        gap = _bare(self.between((first.end_lineno, first.end_col_offset), behind))
        return opened > gap.partition(",")[0].count(")")

    def with_parentheses(self, node: ast.AST) -> str:
        """What is written for a node that stands in parentheses of its own, with all of these."""
        return self.between(*self._around(node))

    def end_of(self, node: ast.AST, own_parentheses: bool) -> Point:
        """The place behind a node, and behind the parentheses around it that are its own."""
        return self._around(node)[1] if own_parentheses else (node.end_lineno, node.end_col_offset)

    def _around(self, node: ast.AST) -> tuple[Point, Point]:
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        while start in self.grouped:
            closed = self._closed(end)
            if closed is None:
                break
            start, end = self.grouped[start], closed
        return start, end

    def _closed(self, end: Point) -> Point | None:
        """The place behind the parenthesis that comes next."""
        row, column = end[0] + self.shift, self.column(*end)
        while row <= len(self.lines):
            line = self.lines[row - 1]
            rest = line[column:].lstrip()
            if rest and rest[0] != "#":
                place = len(line) - len(rest) + 1
                return (row - self.shift, self._bytes(row, place)) if rest[0] == ")" else None
            row, column = row + 1, 0
        return None


def _bare(text: str) -> str:
    return _COMMENT.sub("", text) if "#" in text else text
