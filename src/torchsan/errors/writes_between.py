"""Which line between a forward and its backward wrote to the weights: a state that was loaded, or a function that was
called and copies or averages weights in place. By the time of the error it has returned; its text is there to be read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from torchsan.errors.operands import Frame
from torchsan.own import torch
from torchsan.program.source import tree_of
from torchsan.program.where import _USER, Where, kind_of

_DEEP = 3  # functions that call each other
_COPIES = ("copy_", "mul_", "add_", "sub_", "lerp_", "fill_", "zero_", "clamp_", "div_", "set_", "normal_", "uniform_")


LOADED = "this loads other weights in place, between the forward and the backward that needs them"
WRITTEN = "this writes to weights in place, between the forward and the backward that needs them"


def find(watch: Any, way: list[Frame], shape: tuple[int, ...], version: int) -> list[tuple[Where, str]]:
    """The place that wrote to a parameter of this shape and version, and why it is named; empty where none is known."""
    if not any(_fits(p, shape, version) for module in watch.modules() for p in module.parameters()):
        return []
    forward, load = watch.ledger.last_forward, getattr(watch, "last_load", None)
    if load is not None and (forward is None or load.number > forward.number) and load.subject is not None:
        if load.where() is not None and any(_fits(p, shape, version) for p in load.subject.parameters()):
            return [(load.where(), LOADED)]
    for at in reversed([one for one in way if one.kind == _USER]):
        place = forward.where() if forward is not None else None
        first = place.line if place is not None and place.code is at.frame.f_code else at.frame.f_code.co_firstlineno
        found = next(_in_place(at, first), None)
        if found is not None:
            return [(found, WRITTEN)]
    return []


def _fits(parameter: torch.Tensor, shape: tuple[int, ...], version: int) -> bool:
    return tuple(parameter.shape) in (shape, shape[::-1]) and parameter._version == version


def _in_place(at: Frame, first: int) -> Iterator[Where]:
    """Places that write in place after row `first`, in a frame's own code or in what it called, the last ones first."""
    tree = tree_of(at.frame.f_code.co_filename)
    nodes = [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    between = [node for node in nodes if first < node.lineno < at.line]
    for node in sorted(between, key=lambda node: -node.lineno):
        if _writes(node):
            yield Where(at.frame.f_code, -1, node.lineno)
        called = _resolved(node.func, at)
        if called is not None:
            yield from _inside(called, _DEEP)


def _inside(function: FunctionType, left: int) -> Iterator[Where]:
    code = function.__code__
    tree = tree_of(code.co_filename) if kind_of(code.co_filename) == _USER and left else None
    last = max((row for _, _, row in code.co_lines() if row is not None), default=code.co_firstlineno)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and code.co_firstlineno <= node.lineno <= last:
            if _writes(node):
                yield Where(code, -1, node.lineno)
            elif isinstance(node.func, ast.Name) and isinstance(function.__globals__.get(node.func.id), FunctionType):
                yield from _inside(function.__globals__[node.func.id], left - 1)


def _writes(node: ast.Call) -> bool:
    """Whether a call writes in place, in a way that autograd notices: what goes through `.data` it does not."""
    func = node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _COPIES:
        return False
    return not any(isinstance(part, ast.Attribute) and part.attr == "data" for part in ast.walk(func.value))


def _resolved(func: ast.expr, at: Frame) -> FunctionType | None:
    """The user's function that a call calls, by the variables of the frame; attributes are looked up without running any."""
    if isinstance(func, ast.Name):
        value = at.frame.f_locals.get(func.id, at.frame.f_globals.get(func.id))
    elif isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        owner = at.frame.f_locals.get(func.value.id, at.frame.f_globals.get(func.value.id))
        value = next((vars(cls)[func.attr] for cls in type(owner).__mro__ if func.attr in vars(cls)), None)
        value = vars(owner).get(func.attr, value) if hasattr(owner, "__dict__") else value
    else:
        return None
    value = value.__func__ if isinstance(value, (MethodType, staticmethod, classmethod)) else value
    value = getattr(value, "__wrapped__", value)  # @torch.no_grad()
    return value if isinstance(value, FunctionType) else None
