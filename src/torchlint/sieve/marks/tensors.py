"""Marks attributes that are given a tensor or a leaf, and leaves that may be written to in place."""

from __future__ import annotations

import ast

from torchlint.catalogue.effects import CREATES
from torchlint.sieve.nodes import BUILTINS, bindings, last_name

_LEAVES = frozenset({"Parameter", "Variable", "requires_grad_", "!leaf"})


def mark_tensors(assigns: list, words: set[str], forward: bool) -> None:
    """Marks attributes that are given a tensor made there, or a leaf, and what is written to in place that may be a leaf or
    the result of a function."""
    into = {word[6:] for word in words if word[:6] == "!into "}
    made, leaves = not CREATES.isdisjoint(words), not _LEAVES.isdisjoint(words)
    if not (into or made or leaves or "!setattr" in words):
        return
    pairs = bindings(assigns)
    tensors: set[str] = set()
    leafs: set[str] = set()
    bound: dict[str, list[ast.expr]] = {}
    for target, value in pairs:
        for name in [target] if type(target) is ast.Name else target.elts if type(target) is ast.Tuple else ():
            if type(name) is ast.Name:
                bound.setdefault(name.id, []).append(value)
    if made or leaves:
        for _ in range(2):
            for name, values in bound.items():
                for value in values:
                    _made_of(value, name, tensors, leafs)
    for target, value in pairs:
        if type(target) is not ast.Attribute:
            continue
        if type(value) is ast.Call and last_name(value.func)[:1].islower() and last_name(value.func) not in BUILTINS:
            words.add("!kept?")
        if made or leaves:
            found: tuple[set[str], set[str]] = (set(), set())
            _made_of(value, "", tensors, leafs, found)
            if found[0]:
                words.add("!kept")
            if found[1]:
                words.add("!leafkept")
    todo, seen = list(into), set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        values = bound.get(name)
        if values is None:
            if not forward:
                words.add("!leafwrite")  # an argument, or a global
            continue
        for value in values:
            if type(value) is ast.Call:
                words.add(f"!onto {last_name(value.func)}")
            elif type(value) is ast.Name:
                todo.append(value.id)
        if name in leafs or any(type(value) in (ast.Attribute, ast.Subscript) for value in values) or any(
            type(part) is ast.Attribute and part.attr in ("parameters", "named_parameters") for value in values for part in ast.walk(value)
        ):
            words.add("!leafwrite")


def _made_of(value: ast.expr, name: str, tensors: set[str], leafs: set[str], found: tuple[set[str], set[str]] | None = None) -> None:
    """Adds a name to those of tensors made here, and to those of leaves, if its value is such or computed from one."""
    mine, own = found or (tensors, leafs)
    todo = [(value, True)]
    while todo:
        item, top = todo.pop()
        kind = type(item)
        if kind is ast.Lambda:
            continue
        if kind is ast.Name:
            if item.id in tensors:
                mine.add(name)
            if item.id in leafs:
                own.add(name)
        elif kind is ast.Call:
            last = last_name(item.func)
            if last == "Parameter":
                if not top or found is None:
                    own.add(name)
                continue
            if last in CREATES or last == "requires_grad_" or last == "Variable":
                mine.add(name)
            if last in ("requires_grad_", "Variable") or any(word.arg == "requires_grad" for word in item.keywords):
                own.add(name)
        todo.extend((child, False) for child in ast.iter_child_nodes(item))
