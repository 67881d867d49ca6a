"""From a unit to its libcst tree, and from a node of that tree back to its place in the file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst
from libcst.metadata import PositionProvider

from torchlint.dryrun.tree import children, walk
from torchlint.findings import Location
from torchlint.sieve.facts import FileFacts, Unit

MOST_CHARACTERS = 400_000  # of one unit. More is a table of data, of which libcst's tree would take gigabytes
# libcst's own parser runs out of the process's stack, and takes the process with it, past 4,000; and a chain of 900 calls takes
# it 10 s, for its time grows with the cube of the length.
MOST_LEVELS = 1_000
_NESTING = re.compile(r"\b(?:and|or|not|if|elif|else|lambda|await|for)\b|[-+*/%@&|^~.(\[{]")

class TooLong(Exception):
    """A unit that is not for libcst to parse."""


class Parsed:
    """The tree of one unit. `body` are its statements.

    Raises:
        ParserSyntaxError: libcst cannot parse it.
        TooLong: it is longer, or nested deeper, than that.
    """

    __slots__ = ("_parents", "_positions", "_texts", "body", "facts", "module", "shift", "unit")

    def __init__(self, facts: FileFacts, unit: Unit):
        text = "".join(facts.lines[unit.start - 1 : unit.end])
        if len(text) > MOST_CHARACTERS:
            raise TooLong
        self.facts, self.unit = facts, unit
        # A method's text is indented: a block around it lets it parse as it stands, strings and all.
        text = "if 1:\n" + text if unit.indent else text
        if len(text) > MOST_LEVELS and len(_NESTING.findall(text)) > MOST_LEVELS and _levels(text) > MOST_LEVELS:
            raise TooLong
        self.module = cst.parse_module(text)
        self.shift = unit.start - (2 if unit.indent else 1)
        self.body = self.module.body[0].body.body if unit.indent else self.module.body
        self._positions = self._parents = None
        self._texts: dict[cst.CSTNode, str] = {}

    def location(self, node: cst.CSTNode) -> Location:
        """Where a node of this tree stands in the file.

        Raises:
            RecursionError: the tree is too deep for libcst to walk.
        """
        if self._positions is None:
            # Without a MetadataWrapper, which goes through the whole tree once more for visitors that there are not.
            positions = PositionProvider()
            try:
                positions._gen_impl(self.module)
            except (KeyError, RecursionError):
                # Out of the stack, libcst still asks for the ends of the statements around, which it has not come to.
                # What it holds by then are ends that are none.
                raise RecursionError("nested too deeply for libcst") from None
            self._positions = positions
        at = self._positions.get_metadata(PositionProvider, node)
        return Location(
            self.facts.path,
            at.start.line + self.shift,
            at.start.column + 1,
            at.end.line + self.shift,
            at.end.column + 1,
        )

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes of this tree that a node of it stands in, innermost first."""
        if self._parents is None:
            self._parents = {id(child): item for item in walk(self.module) for child in children(item)}
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
