"""Schedules whose state is taken out of another file than that of their optimizer, which the model of something else came from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site, dotted
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance
from torchlint.rules.base import View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.checkpoints import in_files


class Crossed(NamedTuple):
    """A call that fills a schedule, what is filled by its name, and the name of the file's content that its optimizer is filled from."""

    site: Site
    schedule: str
    other: str


class _Filled(NamedTuple):
    """`owner.load_state_dict(source["key"])`"""

    owner: str
    source: str
    key: str
    row: int


def crossed(view: View) -> Iterator[Crossed]:
    """`optimizer.load_state_dict(state["optimizer"])`, and `scheduler.load_state_dict(other["scheduler"])`, in one function."""
    for load in view.of("load"):
        if isinstance(load.subject, Instance) and load.subject.kind == "optimizer" and in_files(view, load, r"sched\w*\.load_state_dict\("):
            yield from _beside(load)


def _beside(load: Event) -> Iterator[Crossed]:
    parsed = load.site.parsed
    try:
        scope = _scope_of(tree_of(text_of(parsed)), load.site.location().row)
    except (SyntaxError, ValueError, RecursionError):
        return
    nodes = list(_inside(scope))
    read = _read_once(nodes)
    filled = [one for one in map(_fills, nodes) if one is not None and one.source in read]
    own = next((one for one in filled if one.row == load.site.location().row), None)
    for one in filled if own is not None else ():
        mates = [other for other in filled if other.source == one.source and other is not one]
        if one.source == own.source or one.owner not in _driven_by(nodes, own.owner):
            continue
        if not mates or any(map(_of_a_training, mates)):
            continue
        site = _site_at(parsed, one.row)
        if site is not None and _is_saved(nodes, one):
            yield Crossed(site, one.owner, own.source)


def _scope_of(tree: ast.Module, row: int) -> ast.AST:
    """The innermost function around a row, or the whole file."""
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    around = [node for node in functions if node.lineno <= row <= (node.end_lineno or row)]
    return max(around, key=lambda node: node.lineno) if around else tree


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a scope; of functions in it none."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _inside(node)


def _read_once(nodes: list[ast.AST]) -> set[str]:
    """The names that are set once in a scope, to what `torch.load` reads."""
    given: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        given.setdefault(part.id, []).append(node.value)
    return {name for name, values in given.items() if len(values) == 1 and _called(values[0]) == "torch.load"}


def _fills(node: ast.AST) -> _Filled | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "load_state_dict":
        return None
    if len(node.args) != 1:
        return None
    state = node.args[0]
    if not isinstance(state, ast.Subscript) or not isinstance(state.value, ast.Name) or not isinstance(state.slice, ast.Constant):
        return None
    return _Filled(ast.unparse(node.func.value), state.value.id, str(state.slice.value), node.lineno)


def _driven_by(nodes: list[ast.AST], optimizer: str) -> set[str]:
    """What is made with an optimizer as its first argument, as a schedule is."""
    return {
        ast.unparse(target) for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if node.value.args and ast.unparse(node.value.args[0]) == optimizer for target in node.targets
    }


def _of_a_training(filled: _Filled) -> bool:
    return "optim" in filled.owner.lower() or "optim" in filled.key.lower()


def _is_saved(nodes: list[ast.AST], filled: _Filled) -> bool:
    """Whether the state of a schedule is saved in the same scope, under the key that it is read by."""
    wanted = f"{filled.owner}.state_dict()"
    return any(
        isinstance(key, ast.Constant) and key.value == filled.key and ast.unparse(value) == wanted
        for node in nodes if isinstance(node, ast.Dict) for key, value in zip(node.keys, node.values, strict=True) if key is not None
    )


def _called(value: ast.expr) -> str:
    return ast.unparse(value.func) if isinstance(value, ast.Call) else ""


def _site_at(parsed: Parsed, row: int) -> Site | None:
    """The call of `load_state_dict` at a row of the same unit."""
    calls = (node for node in walk(parsed.module) if isinstance(node, cst.Call) and dotted(node.func).endswith(".load_state_dict"))
    return next((site for site in (Site(parsed, node) for node in calls) if site.location().row == row), None)
