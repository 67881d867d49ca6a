"""How a rule says what to type instead: changes of nodes, put into rows and columns once the finding is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import children
from torchlint.findings import Edit, Fix, Location
from torchlint.source import unify_line_ends


@dataclass(slots=True, frozen=True)
class Change:
    """One change of a file's text. `place` is a node of `parsed`, or a location in its file; `text` takes its place, or
    goes to one of its ends (`end` is "start" or "stop")."""

    parsed: Parsed
    place: cst.CSTNode | Location
    text: str
    end: str = ""

    def edit(self) -> Edit:
        """The change by rows and columns of the file."""
        at = self.place if isinstance(self.place, Location) else self.parsed.location(self.place)
        if self.end == "start":
            at = Location(at.filename, at.row, at.column, at.row, at.column)
        elif self.end == "stop":
            at = Location(at.filename, at.end_row, at.end_column, at.end_row, at.end_column)
        return Edit(at, self.text, _stretch(self.parsed.facts.lines, at))


def _stretch(lines: Sequence[str], at: Location) -> str:
    """The text at a location of a file's lines."""
    rows = lines[at.row - 1 : at.end_row]
    if len(rows) == at.end_row - at.row + 1:  # the end may be behind the last row
        rows[-1] = rows[-1][: at.end_column - 1]
    return unify_line_ends("".join(rows)[at.column - 1 :])


@dataclass(slots=True, frozen=True)
class Mend:
    """What mends a finding: all changes or none. `message` says what is done, in the imperative; `safe` that nobody who
    wrote the code can have wanted it otherwise."""

    message: str
    changes: Sequence[Change]
    safe: bool = True

    def fix(self) -> Fix:
        """The mend as it is told and applied."""
        return Fix("safe" if self.safe else "unsafe", self.message, tuple(change.edit() for change in self.changes))


def replace(site: Site, text: str, node: cst.CSTNode | None = None) -> Change:
    """Puts `text` in place of the site's node, or of another node of the same tree. Parentheses around it stay."""
    return Change(site.parsed, node or site.node, text)


def insert_before(site: Site, text: str, node: cst.CSTNode | None = None) -> Change:
    """Puts `text` directly before a node."""
    return Change(site.parsed, node or site.node, text, "start")


def insert_after(site: Site, text: str, node: cst.CSTNode | None = None) -> Change:
    """Puts `text` directly behind a node."""
    return Change(site.parsed, node or site.node, text, "stop")


def between(site: Site, first: cst.CSTNode, last: cst.CSTNode, text: str = "") -> Change:
    """Puts `text` in place of everything from the start of one node to the start of another."""
    start, stop = site.parsed.location(first), site.parsed.location(last)
    return Change(site.parsed, Location(start.filename, start.row, start.column, stop.row, stop.column), text)


def code_of(site: Site, node: cst.CSTNode | None = None) -> str:
    """The source of a node just as it stands."""
    return site.parsed.module.code_for_node(node or site.node)


def with_argument(site: Site, text: str, call: cst.Call | None = None) -> Change | None:
    """Adds a keyword argument behind all others of a call, laid out as they are. None where `*` or `**` is among them:
    what is in there is not known."""
    call = call or site.node
    if not isinstance(call, cst.Call) or any(arg.star for arg in call.args):
        return None
    parsed = site.parsed
    if not call.args:
        at = parsed.location(call)
        inside = Location(at.filename, at.end_row, at.end_column - 1, at.end_row, at.end_column - 1)
        return Change(parsed, inside, text)
    last = call.args[-1]
    at = parsed.location(last)
    gap = " "
    if at.row > parsed.location(call.func).end_row:
        rows = parsed.facts.lines
        row = rows[at.row - 1]
        behind = rows[at.end_row - 1][at.end_column - 1 :].strip(" \t\n,")
        if not row[: at.column - 1].strip() and not behind:
            gap = "\n" + row[: at.column - 1]
    return insert_after(site, "," + gap + text, last)


def without_argument(site: Site, arg: cst.Arg) -> Change | None:
    """Takes an argument out of the site's call. None where a comment stands beside it, or another argument moves up."""
    args = site.node.args
    at = next(index for index, one in enumerate(args) if one is arg)
    if any(one.keyword is None for one in args[at + 1 :]) or "#" in site.parsed.module.code_for_node(site.node):
        return None
    if at + 1 < len(args):
        return between(site, arg, args[at + 1])
    here = site.parsed.location(arg)
    start = site.parsed.location(args[at - 1]) if at else None
    row, column = (start.end_row, start.end_column) if start else (here.row, here.column)
    return Change(site.parsed, Location(here.filename, row, column, here.end_row, here.end_column), "")


def binds(parsed: Parsed, node: cst.CSTNode, name: str) -> bool:
    """Whether the innermost function around `node` has `name` for a name of its own: an argument, or assigned in it."""
    function = _function_around(parsed, node)
    if function is None:
        return False
    params = function.params
    every = (*params.posonly_params, *params.params, *params.kwonly_params, params.star_arg, params.star_kwarg)
    if any(isinstance(param, cst.Param) and param.name.value == name for param in every):
        return True
    todo: list[cst.CSTNode] = [function.body]
    found = False
    while todo:
        item = todo.pop()
        if isinstance(item, (cst.Global, cst.Nonlocal)) and any(one.name.value == name for one in item.names):
            return False
        if isinstance(item, (cst.FunctionDef, cst.ClassDef, cst.Lambda, cst.BaseComp)):
            continue
        target = item.target if isinstance(item, (cst.AssignTarget, cst.AnnAssign, cst.For, cst.NamedExpr)) else None
        target = item.name if isinstance(item, cst.AsName) else target
        found = found or target is not None and name in _names(target)
        todo.extend(children(item))
    return found


def _names(target: cst.CSTNode) -> set[str]:
    """The names that an assignment's target binds."""
    if isinstance(target, cst.Name):
        return {target.value}
    if isinstance(target, (cst.Tuple, cst.List)):
        return set().union(*(_names(element.value) for element in target.elements))
    return set()


def _function_around(parsed: Parsed, node: cst.CSTNode) -> cst.FunctionDef | None:
    return next((item for item in parsed.around(node) if isinstance(item, cst.FunctionDef)), None)
