"""The tree of one unit as the scout sees it, made from Python's own tree; what `source_text.Parsed` is for the judge."""

from __future__ import annotations

import ast
import unicodedata

import libcst as cst

from torchlint.dryrun.scout.graft import Unlike, graft
from torchlint.dryrun.scout.makers import Odd, maker
from torchlint.dryrun.scout.rows import Rows
from torchlint.dryrun.scout.statements import Statements
from torchlint.dryrun.source_text import Parsed, parse
from torchlint.findings import Location
from torchlint.sieve.facts import FileFacts, Unit

_if = maker(cst.If, "test", "body", "orelse")
_block = maker(cst.IndentedBlock, "body")
_integer = maker(cst.Integer, "value")


class _Module(cst.Module):
    """The tree's root. It has no code to be written out, but knows what stands in the file."""

    __slots__ = ("places", "rows")

    def made_from(self, node: cst.CSTNode) -> ast.AST:
        """The node of Python's own tree that a node was made from.

        Raises:
            Odd: there is none.
        """
        found = self.places.get(id(node))
        if found is None:
            raise Odd
        return found

    def code_for_node(self, node: cst.CSTNode) -> str:
        if type(node) is cst.Integer and not node.lpar:
            return node.value
        found = self.made_from(node)
        if getattr(node, "lpar", ()):
            return self.rows.with_parentheses(found)
        text = self.rows.text(found)
        return text[1:-1] if type(found) is ast.GeneratorExp else text  # the only argument of a call


_new_module = maker(_Module, "body", "rows", "places")


class Light(Parsed):
    """The tree of one unit. `body` are its statements.

    Args:
        nodes: the unit's statements in Python's own tree.
        above: how many rows of the file stand above those that this tree is of.

    Raises:
        Odd: something in it is not made here.
        RecursionError: it is too deep.
    """

    __slots__ = ()

    def __init__(self, facts: FileFacts, unit: Unit, nodes: list[ast.stmt], above: int = 0):
        self.facts, self.unit = facts, unit
        made = Statements(Rows(facts.own_lines, above, unit.start, unit.end))
        self.body = made.statements(nodes)
        # As libcst is given it: in a block, where the text is indented.
        around = [_if(_integer("1"), _block(self.body), None)] if unit.indent else self.body
        self.begin(_new_module(around, made.rows, made.places))

    @property
    def is_whole(self) -> bool:
        """Whether libcst has parsed it."""
        return type(self.module) is not _Module

    def move(self, facts: FileFacts, unit: Unit) -> None:
        if not self.is_whole:
            self.module.rows.move(facts.own_lines, unit.start - self.unit.start)
        super().move(facts, unit)

    def complete(self) -> None:
        """Has it parsed by libcst, if it was not yet. The nodes stay the same objects.

        Raises:
            Unlike: libcst reads it otherwise, or not at all.
        """
        if self.is_whole:
            return
        try:
            whole, self._columns_added = parse(self.facts, self.unit)
            graft(self.module, whole)
        except (Unlike, cst.ParserSyntaxError, cst.CSTValidationError, RecursionError):
            self.unit.light = False
            raise Unlike from None
        self.begin(whole)

    def location(self, node: cst.CSTNode) -> Location:
        """Where a node of this tree stands in the file.

        Raises:
            Odd: that is not known.
        """
        if self.is_whole:
            return super().location(node)
        module = self.module
        self.facts.seen.rows = True
        (row, column), (end_row, end_column) = module.rows.place(module.made_from(node), bool(getattr(node, "lpar", ())))
        return Location(self.facts.path, row, column + 1, end_row, end_column + 1)


def light(facts: FileFacts, unit: Unit) -> Light:
    """The scout's tree of a unit.

    Raises:
        Odd: it cannot be made.
        RecursionError: it is too deep.
    """
    nodes, unit.nodes = unit.nodes, None
    text = "".join(facts.own_lines[unit.start - 1 : unit.end])
    if not text.isascii() and _has_other_letters(text):
        raise Odd
    if nodes is not None and _alone(facts, nodes):
        return Light(facts, unit, nodes)
    try:
        tree = ast.parse("if 1:\n" + text if unit.indent else text)
    except (SyntaxError, ValueError, MemoryError):
        raise Odd from None
    nodes = tree.body[0].body if unit.indent else tree.body
    return Light(facts, unit, nodes, unit.start - (2 if unit.indent else 1))


def _has_other_letters(text: str) -> bool:
    """Whether a name may be written otherwise than Python's parser tells it: it has `viii` for the one sign \u2177."""
    others = {char for char in text if not char.isascii()}
    return any(f"a{char}".isidentifier() and unicodedata.normalize("NFKC", char) != char for char in others)


def _alone(facts: FileFacts, nodes: list[ast.stmt]) -> bool:
    """Whether statements share no row with others, which libcst would be given as well."""
    first, last = nodes[0], nodes[-1]
    before = facts.own_lines[first.lineno - 1].encode("utf-8", "surrogatepass")[: first.col_offset]
    behind = facts.own_lines[last.end_lineno - 1].encode("utf-8", "surrogatepass")[last.end_col_offset :]
    return not before.strip() and behind.lstrip()[:1] != b";"
