"""What a model is given and no tensor meets in its forward: it is not read, or asked for its sizes and for the numbers in it.

Such a tensor may lie on another device than the model: the lengths of captions in a batch that the model ends up not looking at.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from torchlint.catalogue.effects import ARRAYS
from torchlint.dryrun.values import Class, Instance, Value

# What asks a tensor for numbers, for what it is like, or for the same on the CPU.
_NUMBERS = ARRAYS | frozenset("item size shape dim ndim ndimension numel dtype device is_cuda cpu".split())
_COUNTS = frozenset({"len", "int", "float", "range", "isinstance", "print"})
_PICKS = frozenset({"max", "min", "sum", "long", "int"})  # on the way to a number: `lengths.max().item()`


def met_by_nothing(module: Value, index: int) -> bool:
    """Whether the forward of a model of the project has no use for its argument number `index` that wants a tensor where the model is."""
    forward = method_of(module, "forward")
    if forward is None:
        return False
    names = [arg.arg for arg in (*forward.args.posonlyargs, *forward.args.args)][1:]
    return index < len(names) and all(map(in_numbers, reads(forward, names[index])))


def method_of(module: Value, name: str) -> ast.FunctionDef | None:
    """A method of a model of the project, which its class or a base has."""
    found = module.cls.method(name) if isinstance(module, Instance) and isinstance(module.cls, Class) else None
    if found is None:
        return None
    cls, unit = found
    try:
        method = ast.parse(textwrap.dedent("".join(cls.facts.lines[unit.start - 1 : unit.end]))).body[0]
    except (SyntaxError, IndexError):
        return None
    return method if isinstance(method, ast.FunctionDef) else None


def reads(forward: ast.FunctionDef, name: str) -> Iterator[list[ast.AST]]:
    """Each place where a name is read, with all that it stands in, until the name is bound to something else in any case."""
    for statement in forward.body:
        yield from _ways(statement, name, [])
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return


def _ways(node: ast.AST, name: str, around: list[ast.AST]) -> Iterator[list[ast.AST]]:
    way = [*around, node]
    if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store):
        yield way
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "locals":
        yield way
    for child in ast.iter_child_nodes(node):
        yield from _ways(child, name, way)


def in_numbers(way: list[ast.AST]) -> bool:
    """Whether what is read is turned into numbers before anything else is done with it."""
    inner = way.pop()
    while way:
        outer = way.pop()
        if isinstance(outer, ast.Attribute):
            if outer.attr in _NUMBERS:
                return True
            if outer.attr not in _PICKS or not way or not isinstance(way[-1], ast.Call) or way[-1].func is not outer:
                return False
            outer = way.pop()
        elif isinstance(outer, ast.Call):
            name = outer.func.id if isinstance(outer.func, ast.Name) else ""
            if name in _COUNTS and inner is not outer.func:
                return True
            if name not in _PICKS:
                return False
        elif isinstance(outer, ast.Compare):
            return all(isinstance(op, (ast.Is, ast.IsNot)) for op in outer.ops)
        elif isinstance(outer, ast.Slice):
            return True
        elif not (isinstance(outer, ast.Subscript) and outer.value is inner):
            return False
        inner = outer
    return False
