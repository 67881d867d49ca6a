"""Instances of the project's autograd functions: torch warns where one is made, and raises where it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class
from torchlint.rules.base import View
from torchlint.rules.shared.autograd_functions import is_autograd_function
from torchlint.sieve.facts import units_of


def instances(view: View) -> Iterator[tuple[Site, str, bool]]:
    """Where one is made or called in the file of its class, the class, and whether it is called: `Sign()(x)`, `sign = Sign()` and then
    `sign(x)`. What it is called for, `Sign().forward(x)`, is none."""
    root = view.run.root
    cls = root.home if root is not None and root.name == "backward" else None
    if not isinstance(cls, Class) or not is_autograd_function(cls) or cls.facts.classes.get(cls.name) is not cls.cf:
        return
    units = [unit for unit in units_of(cls.facts) if cls.name in unit.words]
    trees = [tree for unit in units if (tree := view.run.world.parse(cls.facts, unit)) is not None]
    kept = {name for tree in trees for node in _made(tree, cls) if (name := _name_given(tree, node)) is not None}
    kept = {name for name in kept if name.startswith("self.")}
    if kept:
        beside = (unit for unit in units_of(cls.facts) if unit not in units and any(name[5:] in unit.words for name in kept))
        trees += [tree for unit in beside if (tree := view.run.world.parse(cls.facts, unit)) is not None]
    found = [(Site(tree, node), called) for tree in trees for node, called in _in_tree(tree, cls, kept)]
    raises = any(called for _, called in found)
    for site, called in found:
        if called or not raises and _warns(cls):
            yield site, cls.name, called


def _in_tree(parsed: Parsed, cls: Class, kept: set[str]) -> Iterator[tuple[cst.Call, bool]]:
    made = _made(parsed, cls)
    named = kept | {name for node in made if (name := _name_given(parsed, node)) is not None}
    calls = [] if cls.method("__call__") is not None else [node for node in walk(parsed.module) if isinstance(node, cst.Call)]
    yield from ((node, True) for node in calls if node.func in made or named and parsed.text(node.func) in named)
    yield from ((node, False) for node in made)


def _made(parsed: Parsed, cls: Class) -> list[cst.Call]:
    return [node for node in walk(parsed.module) if isinstance(node, cst.Call) and _is_name(node.func, cls.name)]


def _is_name(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _name_given(parsed: Parsed, made: cst.Call) -> str | None:
    """What an instance is put into, a name of the function or an attribute of `self`, where nothing else is put into that."""
    statement = next(parsed.around(made), None)
    if not isinstance(statement, cst.Assign) or statement.value is not made or len(statement.targets) != 1:
        return None
    name = parsed.text(statement.targets[0].target)
    if re.fullmatch(r"(?:self\.)?[A-Za-z_]\w*", name) is None:
        return None
    text = "".join(parsed.facts.lines) if name.startswith("self.") else parsed.text(parsed.module)
    given = rf"(?<![\w.]){re.escape(name)}\s*(?:,[^=()\n]*)?=[^=]|\bfor\b[^\n]*(?<![\w.]){re.escape(name)}\b[^\n]*\bin\b"
    return name if len(re.findall(given, text)) == 1 else None


def _warns(cls: Class) -> bool:
    """Whether making one comes to torch's own `__init__`."""
    found = cls.method("__init__")
    return found is None or any("__init__" in line for line in found[0].facts.lines[found[1].start : found[1].end])
