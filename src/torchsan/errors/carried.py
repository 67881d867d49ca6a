"""What carries a graph from one pass of a loop into the next, so that backward meets it a second time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from torch import nn

from torchsan.errors.operands import Frame, look_up
from torchsan.own import torch
from torchsan.program.layers import tensors
from torchsan.program.source import tree_of
from torchsan.program.where import _USER

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Carried(NamedTuple):
    """A value that is carried over: in words, and how to cut it."""

    fact: str
    mend: str
    what: str


def carried_over(way: list[Frame]) -> Carried | None:
    """What the loops around an error hand from pass to pass with its graph; None where none of that is seen."""
    for one in reversed([frame for frame in way if frame.kind == _USER]):
        loop = _loop(one)
        if loop is not None:
            found = _in_loop(one, loop)
            if found is not None:
                return found
        found = _kept_by_module(one)
        if found is not None:
            return found
    return None


def _loop(one: Frame) -> ast.stmt | None:
    """The innermost loop around a frame's line."""
    tree = tree_of(one.frame.f_code.co_filename)
    best = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _LOOPS) and node.lineno < one.line <= (node.end_lineno or node.lineno):
            best = node
    return best


def _in_loop(one: Frame, loop: Any) -> Carried | None:
    before: set[str] = {node.id for node in ast.walk(getattr(loop, "target", None) or ast.Pass()) if isinstance(node, ast.Name)}
    written = {name for statement in loop.body for name in _stores(statement)}
    for statement in _in_order(loop.body):
        for name in _reads(statement):
            if name in before or not _has_graph(_value(one, name)):
                continue
            if name not in written:
                return Carried(
                    f"`{name}` was computed once, before the loop, and its graph is freed by the first backward",
                    f"compute `{name}` inside of the loop, or `{name} = {name}.detach()` if nothing is to be learnt through it",
                    "every pass of the loop goes back through a value from before it",
                )
            if isinstance(statement, ast.AugAssign):
                return Carried(
                    f"`{name}` adds up the graphs of all passes (line {statement.lineno})",
                    f"call backward on the loss of this pass, and add up numbers: `{name} += loss.item()`",
                    "a running sum of losses holds the graphs of the passes before",
                )
            return Carried(
                f"`{name}` comes from the pass before with its graph (line {statement.lineno})",
                f"cut it where the next pass begins: {_cut(name, _value(one, name))}",
                "a state is carried over from the pass before, and its graph was freed there",
            )
        before |= _stores(statement)
    return None


def _cut(name: str, value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"`{name} = tuple(h.detach() for h in {name})`"
    return f"`{name} = {name}.detach()`"


def _kept_by_module(one: Frame) -> Carried | None:
    """A state that a module keeps: `self.hidden`."""
    for name, value in list(one.frame.f_locals.items()):
        if not isinstance(value, nn.Module):
            continue
        for path, module in value.named_modules():
            for key, kept in vars(module).items():
                if not key.startswith("_") and isinstance(kept, (torch.Tensor, tuple, list)) and _has_graph(kept):
                    full = f"{name}.{path}.{key}" if path else f"{name}.{key}"
                    return Carried(
                        f"`{full}` keeps its graph from step to step",
                        f"cut it before the next step: {_cut(full, kept)}",
                        "a state that the model keeps is carried over from the step before, and its graph was freed there",
                    )
    return None


def _value(one: Frame, name: str) -> Any:
    return look_up(one.frame, ast.Name(name, ast.Load()))


def _has_graph(value: Any) -> bool:
    if not isinstance(value, (torch.Tensor, tuple, list)):
        return False
    return any(tensor.grad_fn is not None for tensor in tensors(value))


def _in_order(block: list[ast.stmt]) -> Iterator[ast.AST]:
    """The statements of a block one by one; of those with blocks of their own, first what stands in the head."""
    for statement in block:
        inner = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.stmt)]
        if not inner or isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield statement
            continue
        yield from (part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt))
        yield from _in_order(inner)


def _reads(statement: ast.AST) -> list[str]:
    """The names that a statement reads, in the order of the text. One that only asks backward of it does not count."""
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.append(node.id)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        found.insert(0, statement.target.id)
    return found


def _stores(statement: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
