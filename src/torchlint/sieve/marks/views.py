"""Marks units where a view may be given sizes in another order."""

from __future__ import annotations

import ast
import re

_SOURCES = frozenset({"size", "shape", "randn", "rand", "zeros", "ones"})  # of sizes that a view may be given

_COLOURS = re.compile(r"chan|colou?r|depth|^n?c$|^ch$", re.IGNORECASE)


def mark_views(calls: list[ast.Call], nodes: list[ast.stmt], words: set[str]) -> None:
    if not words.isdisjoint(_SOURCES) and _arranges(nodes, calls) or any(map(_counts_images, calls)):
        words.add("!arranged")


def _counts_images(call: ast.Call) -> bool:
    """Whether sizes are given that may be those of images: with three colours, or several numbers in no order."""
    parts = [part for arg in call.args for part in ast.walk(arg)]
    numbers = [part.value for part in parts if type(part) is ast.Constant and type(part.value) is int]
    if 3 in numbers or len(numbers) > 2 and numbers != sorted(numbers):
        return True
    named = [getattr(part, "id", None) or getattr(part, "attr", "") for part in parts if type(part) in (ast.Name, ast.Attribute)]
    return len(numbers) + len(named) > 2 and any(map(_COLOURS.search, named))


def _arranges(nodes: list[ast.stmt], calls: list[ast.Call]) -> bool:
    """Whether some x.view(...) may be given sizes of x in another order: names in another order than they were unpacked
    in, x.size(1) before x.size(0), numbers."""
    unpacked = [
        [getattr(name, "id", "") for name in target.elts]
        for statement in nodes for node in ast.walk(statement) if type(node) is ast.Assign
        for target in node.targets if type(target) is ast.Tuple
    ]
    for call in calls:
        names, numbers, rest = [], [], False
        for arg in call.args:
            for part in ast.walk(arg):
                if type(part) is ast.Name:
                    names.append(part.id)
                    if rest and any(part.id in given for given in unpacked):
                        return True
                elif type(part) is ast.Constant and type(part.value) is int:
                    numbers.append(part.value)
            rest = rest or type(arg) is ast.UnaryOp  # -1: what is left over
        if numbers != sorted(numbers) or any(_out_of_order(names, given) for given in unpacked):
            return True
    return False


def _out_of_order(names: list[str], unpacked: list[str]) -> bool:
    places = [unpacked.index(name) for name in names if name in unpacked]
    return places != sorted(places)
