"""A function and a class of a file: its units, and the marks for how they are defined."""

from __future__ import annotations

import ast
import re

from torchlint.catalogue.effects import LAYERS, MISSPELT
from torchlint.catalogue.vocabulary import CALLED_WITH_NOTHING, NAMED_AS_EVALUATION
from torchlint.sieve.facts import ClassFacts, Unit
from torchlint.sieve.nodes import dotted, first_row
from torchlint.sieve.words import read_unit


def read_function(node: ast.FunctionDef | ast.AsyncFunctionDef, indent: bool) -> Unit:
    unit = read_unit(node.name, node, node, [node], indent)
    args = node.args
    unit.params = tuple(arg.arg for arg in (*args.posonlyargs, *args.args))
    unit.is_async = isinstance(node, ast.AsyncFunctionDef)
    unit.decorators = tuple(dotted(d) for d in node.decorator_list)
    if node.name == "forward" and type(node.body[-1]) not in (ast.Return, ast.Raise):
        unit.words |= {"!falls"}
    if NAMED_AS_EVALUATION.search(node.name):
        unit.words |= {"!evaluates"}
    return unit


_CLASS = re.compile(r"[A-Z]+[A-Z\d]*[a-z]")  # not of constants


def _layer_by_default(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the default of a parameter is a layer with weights: `act=nn.PReLU()`."""
    defaults = (*node.args.defaults, *node.args.kw_defaults)
    return any(type(default) is ast.Call and dotted(default.func).rpartition(".")[2] in LAYERS for default in defaults)


def read_class(node: ast.ClassDef, everything: set[str]) -> ClassFacts:
    facts = ClassFacts(
        node.name,
        first_row(node),
        node.end_lineno,
        node.lineno,
        tuple(dotted(base) for base in node.bases),
        tuple(keyword.arg or "**" for keyword in node.keywords),
        tuple(dotted(d) for d in node.decorator_list),
    )
    for item in node.body:
        if item.lineno == node.lineno:  # class A: pass
            continue
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            unit = read_function(item, indent=True)
            if any(d.endswith((".setter", ".deleter")) for d in unit.decorators):
                continue
            if item.name == "__init__" and _layer_by_default(item):
                unit.words |= {"!default"}
            if item.name == "__init__" and node.bases and _late(item):
                unit.words |= {"!init"}
            elif item.name == "__getitem__":
                unit.words |= {"!item"}
            elif item.name == "train" or item.name in CALLED_WITH_NOTHING:
                unit.words |= {"!replaced"}
            elif item.name in MISSPELT:
                unit.words |= {"!misspelt"}
            elif item.name == "backward" and any(dotted(base).rpartition(".")[2] == "Function" for base in node.bases):
                unit.words |= {"!autograd"}
            facts.methods[item.name] = unit
        elif isinstance(item, ast.ClassDef):
            facts.classes[item.name] = read_class(item, everything)
            continue
        else:
            unit = read_unit("<class>", item, item, [item], indent=True)
            facts.body.append(unit)
        everything.update(unit.words)
    units = [*facts.methods.values(), *facts.body]
    grown = {f"!empty {word[7:]}" for unit in units for word in unit.words if word[:7] == "!grows "}
    for unit in units if grown else ():
        if not grown.isdisjoint(unit.words):
            unit.words |= {"!container"}
    init = facts.methods.get("__init__")
    if init is not None and init.gives:
        used = frozenset().union(*(unit.words for unit in facts.methods.values() if unit is not init))
        if any(name not in used and (not LAYERS.isdisjoint(words) or any(map(_CLASS.match, words))) for name, words in init.gives.items()):
            init.words |= {"!idle"}
    return facts


def _late(node: ast.FunctionDef) -> bool:
    """Whether an __init__ does something with self before it calls the __init__ of its base, or never calls that."""
    for statement in node.body:
        parts = list(ast.walk(statement))
        if any(type(part) is ast.Attribute and part.attr == "__init__" for part in parts):
            return False
        if any(type(part) is ast.Name and part.id == "self" for part in parts):
            return True
    return True
