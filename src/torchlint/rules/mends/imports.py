"""Names that a file imports from torch, and every place that uses them: what has to change together."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.files.source import is_notebook
from torchlint.findings import Location
from torchlint.rules.mends.changes import Change
from torchlint.rules.mends.rows import beside, insert, text_of, tree_of


@dataclass(slots=True, frozen=True)
class Use:
    """A use of an imported name: the name or the dotted name (`node`), what stands around it, and what it means."""

    node: ast.expr
    parent: ast.AST
    qualified: str


# What a use of a name has to become: changes of text, or None where that cannot be said.
Rewrite = Callable[[Parsed, Use], "list[Change] | None"]


def imported_again(
    parsed: Parsed, local: str, rewrite: Rewrite, moved: Callable[[str], str | None]
) -> list[Change] | None:
    """Imports a name, and all that its statement imports, from elsewhere, and rewrites every use in the file.

    Args:
        parsed: any tree of the file.
        local: the name as the file uses it.
        rewrite: what a use becomes, where it is more than another name.
        moved: the qualified name that another one has now, which may be the same; None where it has none.

    Returns:
        The changes; None unless the names that change are bound once, without any condition, and every use can be
        rewritten.
    """
    found = _import_of(text_of(parsed), local)
    if found is None or any(alias.name == "*" for alias in found.names):
        return None
    whole = isinstance(found, ast.Import)
    if whole and (len(found.names) > 1 or found.names[0].asname is None):
        return None
    owner = "" if whole else f"{found.module}."
    olds = {alias.asname or alias.name: owner + alias.name for alias in found.names}
    news = {name: moved(old) for name, old in olds.items()}
    changed = [name for name, old in olds.items() if news[name] != old]
    if None in news.values() or any(_import_of(text_of(parsed), name) is not found for name in changed):
        return None
    changes = _statement(parsed, found, news)
    if changes is None:
        return None
    for name in changed:
        alias = next(item for item in found.names if (item.asname or item.name) == name)
        last = news[name].rpartition(".")[2]
        if not whole and alias.asname is None and last != alias.name:
            if _bindings(text_of(parsed), last):
                return None
            changes += [Change(parsed, span(parsed, node), last) for node in _loads(text_of(parsed), name)]
        for use in _uses(parsed, name, olds[name]):
            more = rewrite(parsed, use)
            if more is None:
                return None
            changes += more
    return changes


def use_at(site: Site, qualified: str) -> Use | None:
    """The use that a call makes of its function's name."""
    at = site.location()
    for node in ast.walk(tree_of(text_of(site.parsed))):
        if isinstance(node, ast.Call) and (node.lineno, node.end_lineno) == (at.row, at.end_row):
            where = span(site.parsed, node)
            if (where.column, where.end_column) == (at.column, at.end_column):
                return Use(node.func, node, qualified)
    return None


def module_named(parsed: Parsed, name: str) -> tuple[str, list[Change]]:
    """What a file calls a module of Python's own; where it does not import it, with the change that does."""
    local = next((local for local, found in parsed.facts.imports.items() if found == name), None)
    if local is not None:
        return local, []
    for item in [] if _bindings(text_of(parsed), name) else tree_of(text_of(parsed)).body:
        if isinstance(item, (ast.Import, ast.ImportFrom)) and getattr(item, "module", "") != "__future__":
            return name, [insert(parsed, item.lineno, f"import {name}\n")]
    return "", []


def is_program(parsed: Parsed) -> bool:
    """Whether a file is run by itself: what it imports, no other file takes from it."""
    return is_notebook(parsed.facts.path) or any(line.startswith("if __name__") for line in parsed.facts.lines)


def span(parsed: Parsed, node: ast.expr | ast.keyword | ast.stmt | ast.alias) -> Location:
    """Where a node of `tree_of` stands."""
    start, stop = _column(parsed, node.lineno, node.col_offset), _column(parsed, node.end_lineno, node.end_col_offset)
    return Location(parsed.facts.path, node.lineno, start, node.end_lineno, stop)


def _column(parsed: Parsed, row: int, offset: int) -> int:
    """The column, in characters from 1, of an offset in bytes."""
    return len(parsed.facts.lines[row - 1].encode()[:offset].decode()) + 1


def first_argument(parsed: Parsed, call: ast.Call, text: str) -> Change | None:
    """Puts an argument before all others of a call."""
    given = sorted([*call.args, *call.keywords], key=lambda one: (one.lineno, one.col_offset))
    if any(isinstance(one, ast.Starred) for one in given):
        return None
    if given:
        at = span(parsed, given[0])
        return Change(parsed, at, f"{text},{beside(parsed, at)}", "start")
    at = span(parsed, call)
    if not parsed.facts.lines[at.end_row - 1][: at.end_column - 1].endswith("()"):
        return None
    return Change(parsed, Location(at.filename, at.end_row, at.end_column - 1, at.end_row, at.end_column - 1), text)


def last_argument(parsed: Parsed, call: ast.Call, text: str) -> Change | None:
    """Puts a keyword argument behind all others of a call."""
    given = sorted([*call.args, *call.keywords], key=lambda one: (one.lineno, one.col_offset))
    if not given:
        return first_argument(parsed, call, text)
    if any(isinstance(one, ast.Starred) or getattr(one, "arg", "") is None for one in given):
        return None
    at = span(parsed, given[-1])
    return Change(parsed, at, f",{beside(parsed, at)}{text}", "stop")


def _import_of(text: str, name: str) -> ast.Import | ast.ImportFrom | None:
    """The statement that alone binds a name in a file, where it stands under no condition."""
    found = _bindings(text, name)
    if len(found) != 1 or not isinstance(found[0], (ast.Import, ast.ImportFrom)):
        return None
    parents = _parents(tree_of(text))
    around = parents.get(found[0])
    while isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        around = parents.get(around)
    exported = any(isinstance(node, ast.Constant) and node.value == name for node in ast.walk(tree_of(text)))
    return found[0] if isinstance(around, ast.Module) and not exported else None


def _bindings(text: str, name: str) -> list[ast.AST]:
    """Everything in a file that gives a name a meaning."""
    found: list[ast.AST] = []
    for node in ast.walk(tree_of(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.Name):
            bound = [] if isinstance(node.ctx, ast.Load) else [node.id]
        elif isinstance(node, ast.arg):
            bound = [node.arg]
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            bound = node.names
        else:
            bound = [] if isinstance(node, ast.alias) else [getattr(node, "name", None)]
        found += [node] * bound.count(name)
    return found


@lru_cache(maxsize=2)
def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _loads(text: str, name: str) -> Iterator[ast.Name]:
    for node in ast.walk(tree_of(text)):
        if isinstance(node, ast.Name) and node.id == name:
            yield node


def _uses(parsed: Parsed, local: str, qualified: str) -> Iterator[Use]:
    """The uses of a name; of a module's name, what is asked of the module."""
    parents = _parents(tree_of(text_of(parsed)))
    for node in _loads(text_of(parsed), local):
        name, use = qualified, node
        while isinstance(parents[use], ast.Attribute):
            use = parents[use]
            name += f".{use.attr}"
        yield Use(use, parents[use], name)


def _statement(parsed: Parsed, found: ast.Import | ast.ImportFrom, news: dict[str, str]) -> list[Change] | None:
    """The import statement with other names."""
    row, line = found.lineno, parsed.facts.lines[found.lineno - 1]
    if isinstance(found, ast.Import):
        return _word(parsed, row, rf"import\s+({re.escape(found.names[0].name)})\s", news[found.names[0].asname])
    owners = {new.rpartition(".")[0] for new in news.values()}
    if len(owners) != 1:
        return None
    changes: list[Change] | None = []
    if owners != {found.module}:
        start = _column(parsed, row, found.col_offset) - 1
        changes = _word(parsed, row, rf"{re.escape(line[:start])}from\s+({re.escape(found.module)})\s", owners.pop())
    for alias in found.names if changes is not None else ():
        last = news[alias.asname or alias.name].rpartition(".")[2]
        if last != alias.name:
            at = span(parsed, alias)
            word = Location(at.filename, at.row, at.column, at.row, at.column + len(alias.name))
            changes.append(Change(parsed, word, last))
    return changes


def _word(parsed: Parsed, row: int, pattern: str, text: str) -> list[Change] | None:
    found = re.match(rf"\s*{pattern}", parsed.facts.lines[row - 1])
    if found is None:
        return None
    return [Change(parsed, Location(parsed.facts.path, row, found.start(1) + 1, row, found.end(1) + 1), text)]
