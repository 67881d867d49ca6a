"""Calls of what torch, `torch.nn`, its functions and initialisers have had in no release: a word that is written otherwise, or another
library's. A program that goes there ends with an AttributeError, however far it has come."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import BASIC_MODULES, is_nowhere
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.rules.base import View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.asking import asks_first, asks_of_releases
from torchlint.rules.shared.checkpoints import files_of
from torchlint.rules.shared.written_names import qualified, second_choice


def nowhere(view: View) -> Iterator[tuple[Site, str]]:
    """`torch.from_tensor(x)`, `nn.Relu()`: such calls, with the full names."""
    for tree in view.trees():
        if tree.unit.words.isdisjoint(("!nowhere",)):
            continue
        for node in walk(tree.module):
            if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
                continue
            site = Site(tree, node)
            name = qualified(site, node.func)
            module, _, own = name.rpartition(".")
            if module not in BASIC_MODULES or not is_nowhere(module, own) or asks_of_releases(site) or asks_first(site) or second_choice(site):
                continue
            if _means_the_module(tree, node.func) and not _put_there(view, own):
                yield site, name


def _means_the_module(parsed: Parsed, func: cst.Attribute) -> bool:
    """Whether the first name is nothing but the module in the whole file: `nn` and `F` are called so by others, too."""
    owner = func.value
    while isinstance(owner, cst.Attribute):
        owner = owner.value
    tree = tree_of(text_of(parsed))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = f"{'.' * node.level}{node.module}." if isinstance(node, ast.ImportFrom) else ""
            imported.update(module + alias.name for alias in node.names if _bound_by(alias) == owner.value)
        elif owner.value in _bound(node):
            return False
    return len({name.partition(".")[0] if owner.value == "torch" else name for name in imported}) == 1


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _bound(node: ast.AST) -> tuple[str, ...]:
    """The names that a node gives a value, imports aside."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, ast.arg):
        return (node.arg,)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (node.name,)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return tuple(node.names)
    return (node.name,) if isinstance(node, ast.ExceptHandler) and node.name else ()


def _put_there(view: View, own: str) -> bool:
    """Whether the program puts something of its own into one of torch's modules by that name, or by one that is not written out."""
    puts = re.compile(rf"\.{own}\s*=[^=]|\bsetattr\(\s*(?:torch|th|nn|F)\b|\b(?:torch|th|nn|F)\.__dict__")
    return any(puts.search(line) for facts in files_of(view, view.run.graph.events[0]) for line in facts.lines)
