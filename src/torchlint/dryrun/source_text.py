"""From a unit to its libcst tree, and from a node of that tree back to its place in the file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst
from libcst._nodes.internal import CodegenState

from torchlint.dryrun.tree import children
from torchlint.findings import Location
from torchlint.sieve.facts import FileFacts, Unit

MOST_CHARACTERS = 200_000  # of one unit. More is a table of data: of 300,000 characters of short statements the tree alone takes 8 s
# libcst's own parser runs out of the process's stack, and takes the process with it, past 4,000; and a chain of 900 calls takes
# it 10 s, for its time grows with the cube of the length.
MOST_LEVELS = 1_000
_NESTING = re.compile(r"\b(?:and|or|not|if|elif|else|lambda|await|for)\b|[-+*/%@&|^~.(\[{]")
_NESTING_SIGNS = b"-+*/%@&|^~.([{"
_NESTING_WORDS = (b"and", b"or", b"not", b"if", b"else", b"lambda", b"await")  # "for" and "elif" hold others
_ALONE = re.compile(r"^[ \t]*\\$", re.MULTILINE)  # a row that says no more than that it goes on


class TooLong(Exception):
    """A unit that is not for libcst to parse."""


class TooDeep(TooLong):
    """It is nested too deeply for that."""


class RowsLost(TooLong):
    """libcst loses some of it."""


class Parsed:
    """The tree of one unit. `body` are its statements.

    Raises:
        ParserSyntaxError: libcst cannot parse it.
        TooLong: it is longer, or nested deeper, than that, or libcst loses some of it.
    """

    __slots__ = ("_columns_added", "_parents", "_positions", "_texts", "body", "facts", "module", "shift", "unit")

    def __init__(self, facts: FileFacts, unit: Unit):
        self.facts, self.unit = facts, unit
        module, self._columns_added = parse(facts, unit)
        self.begin(module)
        self.body = self.module.body[0].body.body if unit.indent else self.module.body

    def begin(self, module: cst.Module) -> None:
        """Takes a tree, of which nothing was asked yet."""
        self.module = module
        self._shift()
        self._positions = self._parents = None
        self._texts: dict[cst.CSTNode, str] = {}

    def _shift(self) -> None:
        self.shift = self.unit.start - (2 if self.unit.indent else 1)

    def move(self, facts: FileFacts, unit: Unit) -> None:
        """Makes this the tree of a unit of the same text, in a file that was changed elsewhere."""
        self.facts, self.unit = facts, unit
        self._shift()

    def location(self, node: cst.CSTNode) -> Location:
        """Where a node of this tree stands in the file.

        Raises:
            RecursionError: the tree is too deep for libcst to walk.
        """
        if self._positions is None:
            places = _Places(self.module.default_indent, self.module.default_newline)
            self.module._codegen(places)
            self._positions = places.found
        (row, column), (end_row, end_column) = self._positions[id(node)]
        column, end_column = column - self._columns_added.get(row, 0), end_column - self._columns_added.get(end_row, 0)
        self.facts.seen.rows = True
        return Location(self.facts.path, row + self.shift, column + 1, end_row + self.shift, end_column + 1)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes of this tree that a node of it stands in, innermost first."""
        if self._parents is None:
            self._parents = parents_in(self.module)
        parent = self._parents.get(id(node))
        while parent is not None:
            yield parent
            parent = self._parents.get(id(parent))

    def text(self, node: cst.CSTNode) -> str:
        """The source of a node on one line."""
        found = self._texts.get(node)
        if found is None:
            found = self._texts[node] = dotted(node) or " ".join(self.module.code_for_node(node).split())
        return found


def parse(facts: FileFacts, unit: Unit) -> tuple[cst.Module, dict[int, int]]:
    """The tree of a unit, and how many columns its rows have in the tree that they have not in the file.

    Raises:
        ParserSyntaxError: libcst cannot parse it.
        TooLong: it is longer, or nested deeper, than that, or libcst loses some of it.
    """
    text = text_of(facts, unit)
    added: dict[int, int] = {}
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError:
        text, added = _indented_by_spaces(text)
        if not added:
            raise
        module = cst.parse_module(text)
    # libcst leaves out such rows in front of a statement, so that what is below stands in other rows for it.
    if _ALONE.search(text) and module.code != text:
        raise RowsLost
    return module, added


def _indented_by_spaces(text: str) -> tuple[str, dict[int, int]]:
    """A text whose rows begin with spaces alone, and what each row has more by that: Python counts a tab up to the next eighth column,
    and libcst takes rows that stand in one column by tabs and by spaces for rows of different blocks."""
    rows: list[str] = []
    added: dict[int, int] = {}
    for number, row in enumerate(text.split("\n"), 1):
        rest = row.lstrip(" \t")
        begins = row[: len(row) - len(rest)]
        if "\t" in begins:
            spaces = begins.expandtabs(8)
            added[number] = len(spaces) - len(begins)
            row = spaces + rest
        rows.append(row)
    return "\n".join(rows), added


def unit_text(facts: FileFacts, unit: Unit) -> str:
    """The text of a unit as it stands in its file."""
    return "".join(facts.own_lines[unit.start - 1 : unit.end])


def text_of(facts: FileFacts, unit: Unit) -> str:
    """The text of a unit, as libcst is given it.

    Raises:
        TooLong: it is longer, or nested deeper, than libcst can parse.
    """
    text = unit_text(facts, unit)
    if len(text) > MOST_CHARACTERS:
        raise TooLong
    # A method's text is indented: a block around it lets it parse as it stands, strings and all.
    text = "if 1:\n" + text if unit.indent else text
    if len(text) > MOST_LEVELS and _may_nest(text) and _levels(text) > MOST_LEVELS:
        raise TooDeep
    return text


def _may_nest(text: str) -> bool:
    """Whether a text has enough of what nests to be too deep: counted in haste first, words in words too."""
    data = text.encode("utf-8", "surrogatepass")
    most = len(data) - len(data.translate(None, _NESTING_SIGNS)) + sum(map(data.count, _NESTING_WORDS))
    return most > MOST_LEVELS and len(_NESTING.findall(text)) > MOST_LEVELS


def parents_in(root: cst.CSTNode) -> dict[int, cst.CSTNode]:
    """By id of each node in another: that other."""
    found: dict[int, cst.CSTNode] = {}
    todo = [root]
    while todo:
        parent = todo.pop()
        inner = children(parent)
        found.update(dict.fromkeys(map(id, inner), parent))
        todo += inner
    return found


class _Places(CodegenState):
    """Hears where each node begins and ends while libcst writes a tree out. Its own PositionProvider hears the same, in twice
    the time: it makes three objects a node, and looks for all ways to end a line."""

    def __init__(self, default_indent: str, default_newline: str):
        super().__init__(default_indent, default_newline)
        self.found: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {}  # by id of a node
        self._row, self._column = 1, 0
        self._begun: list[tuple[int, int]] = []

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        rows = value.count("\n")
        self._row += rows
        self._column = len(value) - value.rindex("\n") - 1 if rows else self._column + len(value)

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._begun.append((self._row, self._column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._begun.pop()
        self.found.setdefault(id(node), (start, (self._row, self._column)))

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        """A node without the white space around it; it may begin and end where nodes in it do."""
        start = self._row, self._column
        yield
        end = self._row, self._column
        first = start if start_node is None else self.found[id(start_node)][0]
        self.found[id(node)] = first, end if end_node is None else self.found[id(end_node)][1]


def _levels(text: str) -> int:
    """How deep libcst's tree of a text would be: `a and b and c` and a.b.c of an import, flat for
    Python, are nested for libcst."""
    deepest = 0
    todo: list[tuple[ast.AST, int]] = [(ast.parse(text), 0)]
    while todo:
        node, level = todo.pop()
        level += len(node.values) if isinstance(node, ast.BoolOp) else 1
        if isinstance(node, (ast.alias, ast.ImportFrom)):
            level += (getattr(node, "name", None) or getattr(node, "module", None) or "").count(".")
        deepest = max(deepest, level)
        todo.extend((child, level) for child in ast.iter_child_nodes(node))
    return deepest


def dotted(node: cst.CSTNode) -> str:
    """The source of a name, or of names with dots between them; "" for what is none."""
    parts: list[str] = []
    while type(node) is cst.Attribute and not node.lpar and not node.attr.lpar:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name or node.lpar:
        return ""
    parts.append(node.value)
    return ".".join(reversed(parts))


class Site:
    """A node and the tree it belongs to: all that is kept of a place until somebody must be shown it."""

    __slots__ = ("node", "parsed")

    def __init__(self, parsed: Parsed, node: cst.CSTNode):
        self.parsed, self.node = parsed, node

    def location(self) -> Location:
        return self.parsed.location(self.node)

    def text(self) -> str:
        return self.parsed.text(self.node)

    @property
    def path(self) -> str:
        return self.parsed.facts.path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)
