"""Marks attributes that are given a list or dict which may hold layers."""

from __future__ import annotations

import ast

from torchlint.sieve.nodes import BUILTINS, bindings

_LISTS = frozenset({"list", "dict", "tuple", "set", "OrderedDict"})
_MAY_HOLD = (
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.BinOp, ast.IfExp, ast.Name,
    ast.Call,
)


def mark_containers(assigns: list, words: set[str]) -> None:
    """Marks what attributes are given that may be a list of layers, and the empty lists that may become one."""
    pairs = [pair for node in assigns if type(node) is not ast.For for pair in bindings([node])]
    kept = [(target.attr, value) for target, value in pairs if type(target) is ast.Attribute and type(value) in _MAY_HOLD]
    if not kept:
        return
    names = [(target.id, value) for target, value in pairs if type(target) is ast.Name]
    made = {name for name, value in names if type(value) is ast.Call and getattr(value.func, "id", "") not in BUILTINS}
    lists: set[str] = set()
    for _ in range(2):  # a list may be a part of one that stands above it
        lists.update(name for name, value in names if _held(value, made, lists))
    for name, value in kept:
        held = _held(value, made, lists)
        if held:
            words.add("!container" if held == "layers" else f"!empty {name}")


def _held(value: ast.expr | None, made: set[str], lists: set[str]) -> str:
    """What a list or dict may keep out of a module's sight: "layers"; "nothing" yet; "" for what is no such thing.
    `made` are names for what calls gave, `lists` those for such lists."""
    kind = type(value)
    if kind in (ast.List, ast.Tuple, ast.Set):
        items = value.elts
    elif kind is ast.Dict:
        items = value.values
    elif kind in (ast.ListComp, ast.SetComp, ast.GeneratorExp):
        items = [value.elt]
    elif kind is ast.DictComp:
        items = [value.value]
    elif kind is ast.BinOp or kind is ast.IfExp:
        sides = (value.left, value.right) if kind is ast.BinOp else (value.body, value.orelse)
        held = {_held(side, made, lists) for side in sides}
        return "layers" if "layers" in held else "nothing" if "nothing" in held else ""
    elif kind is ast.Name:
        return "layers" if value.id in lists else ""
    elif kind is ast.Call and getattr(value.func, "id", "") in _LISTS:
        items = [*value.args, *(word.value for word in value.keywords)]
    else:
        return ""
    if not items:
        return "nothing"
    return "layers" if any(_layer(item, made, lists) for item in items) else ""


def _layer(item: ast.expr | None, made: set[str], lists: set[str]) -> bool:
    """Whether an item of a list may be a layer, or a list of layers."""
    kind = type(item)
    if kind is ast.Call and getattr(item.func, "id", "") not in _LISTS:
        return getattr(item.func, "id", "") not in BUILTINS
    if kind is ast.Name:
        return item.id in made or item.id in lists
    return kind is ast.Starred or kind is ast.Constant and item.value is None or _held(item, made, lists) == "layers"
