"""Which rows of a file are reached only behind a question to torch: for its release, or for what it has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.values import Event
from torchlint.rules.mends.rows import text_of, tree_of

_ASKS = re.compile(r"torch\.__version__|hasattr\(torch\b|TORCH_VERSION|TorchVersion|torch_version|version\(['\"]torch['\"]\)")
# A name that is imported and says such a thing: `_TORCH_GREATER_EQUAL_2_4`, `is_torch_at_least`.
_TELLS = re.compile(r"torch_?(?:version|ver|ge|gt|le|lt|greater|less|at_least|since)|(?:version|release)_?of_?torch|torch_?\d|is_torch_\w*\d", re.I)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


# What asks which release it is, whatever it asks of; `torch.cuda.is_available()` does not.
_OF_RELEASES = re.compile(
    r"version|hasattr|legacy|compat|deprecat|release|supports?_|(?:^|[\W_])(?:old|new|older|newer)(?:$|[\W_])|torch_?\d|\bpy[23]\b|python_?[23]",
    re.I,
)


def chosen_by_release(event: Event, instead: str = "") -> bool:
    """Whether a condition that an event stands under, here or in what calls, may tell one release from another: it speaks of such things,
    or its other way does the same by what is there instead."""
    site = event.site
    if any(_may_ask(guard.site.parsed.text(guard.site.node)) for guard in event.guards):
        return True
    wanted = ".".join(instead.split(".")[-2:])
    for item in site.parsed.around(site.node):
        if isinstance(item, cst.Try) and not all(_catches_none_such(site.parsed, handler) for handler in item.handlers):
            return True
        if _is_condition(item) and (_may_ask(site.parsed.text(item.test)) or wanted and wanted in site.parsed.text(item)):
            return True
    return False


def asks_of_releases(site: Site) -> bool:
    """Whether a `try` stands around a place, or a condition that may tell one release from another."""
    return any(
        isinstance(item, cst.Try) or _is_condition(item) and _may_ask(site.parsed.text(item.test)) for item in site.parsed.around(site.node)
    )


def _is_condition(item: cst.CSTNode) -> bool:
    # A method is parsed inside an `if 1:`, which is nobody's.
    return isinstance(item, (cst.If, cst.IfExp)) and not isinstance(item.test, cst.Integer)


# What is raised by no name that is missing, and no call that is taken otherwise.
_OF_OTHER_THINGS = frozenset(
    "StopIteration KeyboardInterrupt SystemExit EOFError OSError IOError FileNotFoundError FileExistsError PermissionError".split()
)


def _catches_none_such(parsed: Parsed, handler: cst.ExceptHandler) -> bool:
    """Whether an `except` speaks of other things than what a release has or has not."""
    named = handler.type
    kinds = [element.value for element in named.elements] if isinstance(named, cst.Tuple) else [named]
    return all(kind is not None and parsed.text(kind) in _OF_OTHER_THINGS for kind in kinds)


def _may_ask(condition: str) -> bool:
    return bool(_OF_RELEASES.search(condition) or _TELLS.search(condition))


def called_twice(site: Site) -> bool:
    """Whether an `if` around a call has the same called in its other way: then it may ask what is taken."""
    called = f"{site.parsed.text(site.node.func)}(" if isinstance(site.node, cst.Call) else ""
    return bool(called) and any(
        _is_condition(item) and item.orelse is not None and site.parsed.text(item).count(called) > 1
        for item in site.parsed.around(site.node)
    )


def tried_twice(site: Site) -> bool:
    """Whether a call stands in what a `try` does if the same call failed: `try: x = it.next()`, `except: it = iter(loader); x = it.next()`."""
    text = site.parsed.text
    around = next((item for item in site.parsed.around(site.node) if isinstance(item, (cst.Try, cst.ExceptHandler))), None)
    if not isinstance(around, cst.ExceptHandler):
        return False
    whole = next(item for item in site.parsed.around(around) if isinstance(item, cst.Try))
    return text(site.node) in text(whole.body)


def asks_first(site: Site) -> bool:
    """Whether a place stands under a question to torch: in an `if` that asks, or that asks a name which such a question was
    put into, or behind one that leaves the function."""
    row = site.location().row
    return any(row in rows for rows in _behind_questions(text_of(site.parsed)))


@lru_cache(maxsize=2)
def _behind_questions(text: str) -> tuple[range, ...]:
    if not _ASKS.search(text) and not _TELLS.search(text):
        return ()
    tree = tree_of(text)
    return tuple(_rows(tree, _flags(tree)))


def _flags(tree: ast.Module) -> frozenset[str]:
    """The names whose values come of a question to torch, and the functions that ask one."""
    found: set[str] = set()
    for _ in range(3):  # a flag that is made of a flag
        before = len(found)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found.update(alias.asname or alias.name for alias in node.names if _TELLS.search(alias.name))
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None and _asks(node.value, found):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(name for target in targets for name in _names(target))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if any(isinstance(inner, ast.Return) and inner.value is not None and _asks(inner.value, found) for inner in ast.walk(node)):
                    found.add(node.name)
        if len(found) == before:
            break
    return frozenset(found)


def _names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _asks(node: ast.expr, flags: set[str] | frozenset[str]) -> bool:
    if _ASKS.search(ast.unparse(node)):
        return True
    return any(
        isinstance(part, ast.Name) and part.id in flags or isinstance(part, ast.Attribute) and (part.attr in flags or bool(_TELLS.search(part.attr)))
        for part in ast.walk(node)
    )


def _rows(tree: ast.Module, flags: frozenset[str]) -> Iterator[range]:
    todo: list[tuple[ast.AST, int]] = [(tree, 0)]
    while todo:
        node, last = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            last = node.end_lineno or 0
        tests = [node.test] if isinstance(node, (ast.If, ast.IfExp, ast.While)) else node.values if isinstance(node, ast.BoolOp) else []
        if any(_asks(test, flags) for test in tests):
            leaves = isinstance(node, ast.If) and last and any(isinstance(block[-1], _LEAVES) for block in (node.body, node.orelse) if block)
            yield range(node.lineno, (last if leaves else node.end_lineno or 0) + 1)
        todo.extend((child, last) for child in ast.iter_child_nodes(node))
