"""Which line changed a value that backward needs: torch tells the operation that wanted it, not the one that spoilt it.

Four looks: at the variables of the frames that are still there, at the optimizer's last step, at what was called between
forward and backward, and, with the model's forward run once more, at every operation that writes in place.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from torchsan.errors import writes_between
from torchsan.errors.operands import Frame
from torchsan.own import re, torch
from torchsan.program.source import tree_of
from torchsan.program.where import _USER, Where, here

_MESSAGE = re.compile(r"\[torch\.\S*Tensor \[([\d, ]*)\]\](?:, which is output \d+ of (\w+))?, is at version (\d+)")
Places = list[tuple[Where, str]]
STEPPED = "this step changes the weights in place, and a later backward needs the old ones"
_TARGET = "; a network that only gives targets needs no graph: call it under `torch.no_grad()`"
MEND_BY_REASON = {  # by why a place is named; of all others the general mend
    STEPPED: "call `backward()` of every loss that needs the old weights first, and step after that; or compute that loss anew "
             "behind the step",
    writes_between.LOADED: f"load them after `backward()`{_TARGET}",
    writes_between.WRITTEN: f"write to them after `backward()`{_TARGET}",
}


def find(error: BaseException, way: list[Frame], watch: Any) -> Places:
    """The places that may have changed the value, and why they are named; empty where none is known."""
    match = _MESSAGE.search(str(error))
    if match is None:
        return []
    shape = tuple(int(size) for size in match[1].replace(" ", "").split(",") if size)
    version = int(match[3])
    found = in_frames(way, shape, version)
    if not found and watch is not None:
        found = _by_optimizer(watch, shape, version) or writes_between.find(watch, way, shape, version)
        found = found or _run_again(watch, shape)
    return found


def in_frames(way: list[Frame], shape: tuple[int, ...], version: int) -> Places:
    """In-place statements on variables that are still there, have this shape and were changed as often."""
    for at in reversed([one for one in way if one.kind == _USER]):
        names = [
            name for name, value in at.frame.f_locals.items()
            if isinstance(value, torch.Tensor) and tuple(value.shape) == shape and value._version == version
        ]
        tree = tree_of(at.frame.f_code.co_filename)
        if tree is None:
            continue
        rows = sorted((row, name) for name in names for row in _writes(tree, name, at.frame.f_code))
        before = [one for one in rows if one[0] <= at.line] or rows
        if before:
            row, name = before[-1]
            return [(Where(at.frame.f_code, -1, row), f"`{name}` is changed in place here")]
    return []


def _writes(tree: ast.AST, name: str, code: Any) -> list[int]:
    """The rows of a function that change a variable's tensor in place."""
    last = max((row for _, _, row in code.co_lines() if row is not None), default=code.co_firstlineno)
    rows = []
    for node in ast.walk(tree):
        row = getattr(node, "lineno", 0)
        if not code.co_firstlineno <= row <= last:
            continue
        target = _target(node)
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name) and target.id == name:
            rows.append(row)
    return rows


def _target(node: ast.AST) -> ast.expr | None:
    """What a statement or call changes in place, if it does."""
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _in_place(node.func.attr):
        return node.func.value
    return None


def target(place: Where) -> str | None:
    """What the line of a place changes in place: "gate", "self.state"."""
    tree = tree_of(place.code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if getattr(node, "lineno", 0) == place.line and (changed := _target(node)) is not None:
            while isinstance(changed, ast.Subscript):
                changed = changed.value
            return ast.unparse(changed)
    return None


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and name not in ("requires_grad_", "retain_grad_")


def _by_optimizer(watch: Any, shape: tuple[int, ...], version: int) -> Places:
    """An optimizer's step between forward and backward changes the weights that backward needs."""
    forward = watch.ledger.last_forward
    shapes = {shape, shape[::-1]}  # what is saved is often the transposed weight
    for account in watch.ledger:
        step, optimizer = account.last.get("step"), account.optimizer
        if step is None or optimizer is None or (forward is not None and step.number < forward.number):
            continue
        changed = [
            p for group in optimizer.param_groups for p in group["params"]
            if tuple(p.shape) in shapes and p._version == version
        ]
        if changed and step.where() is not None:
            return [(step.where(), STEPPED)]
    return []


class _Writes(TorchDispatchMode):
    """Notes the lines of operations that write in place to a tensor of one shape that a graph leads to."""

    def __init__(self, shape: tuple[int, ...]):
        super().__init__()
        self.shape = shape
        self.places: dict[tuple, Where] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        schema = func._schema
        if schema.is_mutable and torch._C._current_graph_task_id() == -1:
            for argument, value in zip(schema.arguments, args):
                writes = argument.alias_info is not None and argument.alias_info.is_write
                if writes and isinstance(value, torch.Tensor) and self._fits(value):
                    place = here()
                    if place is not None:
                        self.places.setdefault((place.code.co_filename, place.line), place)
        return func(*args, **(kwargs or {}))

    def _fits(self, value: torch.Tensor) -> bool:
        return tuple(value.shape) == self.shape or (value._base is not None and tuple(value._base.shape) == self.shape)


def _run_again(watch: Any, shape: tuple[int, ...]) -> Places:
    """Run the forward that made the graph once more and see which lines write in place. Random state and buffers are
    put back; without the inputs (they are held weakly) nothing is run."""
    kept = getattr(watch, "last_inputs", None)
    remembered = kept() if kept is not None else None
    if remembered is None:
        return []
    module, args, kwargs = remembered
    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    devices = sorted({p.device.index or 0 for p in module.parameters() if p.is_cuda})
    mode = _Writes(shape)
    with torch.random.fork_rng(devices=devices), suppress(Exception), torch.enable_grad(), mode:
        module(*args, **kwargs)
    with torch.no_grad():
        for buffer, before in buffers:
            if not torch.equal(buffer, before):
                buffer.copy_(before)
    return [(place, "in the forward, this changes a tensor of that shape in place") for place in mode.places.values()]
