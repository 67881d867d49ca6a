"""The tensors that stand on the line of an error: what they are, and where they were made.

Everything is looked up, nothing is called: attributes are read from the objects' own dictionaries, so that no property
or `__getattr__` of the user's runs.
"""

from __future__ import annotations

import ast
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from torch import nn

from torchsan.own import F, re, torch
from torchsan.program import source
from torchsan.program.source import tree_of
from torchsan.program.where import _OURS, _USER, Where, kind_of

_RESHAPES = frozenset("unsqueeze squeeze view reshape flatten t transpose permute expand contiguous detach clone".split())
_MANY = 6  # operands to name at most
_FAR = 4  # callers to go back through for where an argument was made
_TRACE = re.compile(r'File "([^"]+)", line (\d+)')


class Frame(NamedTuple):
    """A frame of a traceback, as it stood when the error passed."""

    frame: FrameType
    line: int
    instruction: int

    @property
    def where(self) -> Where:
        return Where(self.frame.f_code, self.instruction, self.line)

    @property
    def kind(self) -> int:
        return kind_of(self.frame.f_code.co_filename)


class Operand(NamedTuple):
    """A tensor by the expression that names it, where it was made, or by which layer of torch's."""

    name: str
    value: torch.Tensor
    made: Where | None
    maker: str | None = None


def frames(traceback: TracebackType | None) -> list[Frame]:
    """The frames of a traceback, outermost first."""
    found = []
    while traceback is not None:
        found.append(Frame(traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti))
        traceback = traceback.tb_next
    return found


def describe(value: torch.Tensor) -> str:
    """ "float32 [8, 4] on cpu, strides (4, 1)"."""
    dtype = str(value.dtype).removeprefix("torch.")
    text = f"{dtype} {list(value.shape)} on {value.device}"
    return f"{text}, strides {tuple(value.stride())}" if value.layout is torch.strided else f"{text}, {value.layout}"


def at_error(way: list[Frame]) -> list[Operand]:
    """The operands on the user's line that an error passed, and those of torch's own layer below it."""
    user = _last_of_user(way)
    if user is None:
        return []
    found: dict[int, Operand] = {}
    failed = expression(way[user])
    for name, node in _names(failed, within=False):
        value = look_up(way[user].frame, node)
        if isinstance(value, nn.Module) and isinstance(failed, ast.Call) and node is failed.func:
            for own, parameter in value._parameters.items():
                if parameter is not None:
                    found.setdefault(id(parameter), Operand(f"{name}.{own}", parameter, None))
        elif isinstance(value, torch.Tensor):
            found.setdefault(id(value), Operand(name, value, made(way, user, node)))
    for at in range(len(way) - 1, user, -1):
        code = way[at].frame.f_code
        if way[at].kind == _OURS and code.co_name == "forward":
            _of_layer(way, at, found)
        elif code.co_filename == F.__file__:
            for name in ("input", "target"):
                value = way[at].frame.f_locals.get(name)
                if isinstance(value, torch.Tensor):
                    found.setdefault(id(value), Operand(f"{name} of {code.co_name}", value, traced(value)))
    if not found:  # nothing but what calls on the line gave: then what these were given
        for name, node in _names(failed, within=True):
            value = look_up(way[user].frame, node)
            if isinstance(value, torch.Tensor):
                found.setdefault(id(value), Operand(name, value, made(way, user, node)))
    return sorted(found.values(), key=lambda one: isinstance(one.value, nn.Parameter))[:_MANY]  # what was given, first


def _last_of_user(way: list[Frame]) -> int | None:
    """Where on the way of an error the user's own line stands that it passed last."""
    return next((at for at in range(len(way) - 1, -1, -1) if way[at].kind == _USER), None)


def reshaped(way: list[Frame]) -> list[Operand]:
    """Tensors that the user's line gives on in another shape, and in the same dtype: `x` of `gather(1, x.unsqueeze(1))`."""
    user = _last_of_user(way)
    failed = expression(way[user]) if user is not None else None
    found = []
    for node in ast.walk(failed) if failed is not None else ():
        if node is not failed and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _RESHAPES:
            value = look_up(way[user].frame, node.func.value)
            if isinstance(value, torch.Tensor):
                found.append(Operand(ast.unparse(node.func.value), value, made(way, user, node.func.value)))
    return found


def _of_layer(way: list[Frame], at: int, found: dict[int, Operand]) -> None:
    """What torch's layer was working on: its input and its own parameters."""
    layer = way[at].frame.f_locals.get("self")
    if not isinstance(layer, nn.Module):
        return
    label = path_of(way, layer) or type(layer).__name__
    maker = _before(way, layer)
    for name, value in way[at].frame.f_locals.items():
        if isinstance(value, torch.Tensor):
            found.setdefault(id(value), Operand(f"{name} of {label}", value, traced(value), maker))
            maker = None  # it made the first argument
    if not layer._modules:
        for name, value in layer._parameters.items():
            if value is not None:
                found.setdefault(id(value), Operand(f"{name} of {label}", value, None))


def _before(way: list[Frame], layer: nn.Module) -> str | None:
    """The layer whose output an nn.Sequential passes to `layer`."""
    for one in way:
        chain = one.frame.f_locals.get("self")
        if isinstance(chain, nn.Sequential):
            parts = list(chain)
            index = next((at for at, part in enumerate(parts) if part is layer), 0)
            if index:
                return f"{path_of(way, parts[index - 1]) or ''} ({type(parts[index - 1]).__name__})".strip()
    return None


def modules_on(way: list[Frame]) -> list[nn.Module]:
    """The modules that were running, outermost first."""
    modules: list[nn.Module] = []
    for one in way:
        owner = one.frame.f_locals.get("self") if one.frame.f_code.co_name != "__init__" else None
        is_ready = isinstance(owner, nn.Module) and "_modules" in vars(owner)  # super().__init__() may not have run
        if is_ready and not any(owner is known for known in modules):
            modules.append(owner)
    return modules


def path_of(way: list[Frame], wanted: nn.Module) -> str | None:
    """The path of a module inside the outermost one that was running; None for that one itself, and for strangers."""
    running = modules_on(way)
    return next((name for name, module in running[0].named_modules() if module is wanted), None) or None


def layer_of(way: list[Frame]) -> str | None:
    """The module that was running, by its path from the outermost one: "Net.encoder.0 (Linear)"."""
    modules = modules_on(way)
    if not modules:
        return None
    inner = modules[-1]
    path = path_of(way, inner)
    if path is None:
        return type(inner).__name__
    return f"{type(modules[0]).__name__}.{path} ({type(inner).__name__})"


def expression(at: Frame) -> ast.AST | None:
    """The syntax tree of what was being evaluated: the expression where Python keeps columns, else the statement."""
    tree = tree_of(at.frame.f_code.co_filename)
    if tree is None:
        return None
    span = at.where.location()
    best: ast.AST | None = None
    for node in ast.walk(tree):
        row = getattr(node, "lineno", None)
        if row is None:
            continue
        if span.end_column is not None:
            if (row, node.col_offset + 1, node.end_lineno, node.end_col_offset + 1) == (
                span.row, span.column, span.end_row, span.end_column
            ):
                return node.value if isinstance(node, ast.Expr) else node
        if isinstance(node, ast.stmt) and row <= at.line <= (node.end_lineno or row):
            best = node
    return best.value if isinstance(best, ast.Expr) else best


def _names(node: ast.AST | None, within: bool) -> list[tuple[str, ast.expr]]:
    """Names and dotted names in an expression, in the order of the text; `x.view` also gives `x`.

    Args:
        within: also those inside of other calls, which had ended when the expression failed.
    """
    found: list[tuple[str, ast.expr]] = []

    def walk(part: ast.AST) -> None:
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and _is_path(part):
            found.append((ast.unparse(part), part))
            if isinstance(part, (ast.Attribute, ast.Subscript)):
                walk(part.value)
            return
        if isinstance(part, ast.stmt) and part is not node:
            return  # the head of a loop stands for itself
        if isinstance(part, ast.Call) and part is not node and isinstance(node, ast.expr) and not within:
            return
        for child in ast.iter_child_nodes(part):
            walk(child)

    if node is not None:
        walk(node)
    return found


def _is_path(node: ast.AST) -> bool:
    """`x`, `batch.x`, `batch["x"]`, `batch[0]`."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and _is_path(node.value)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_path(node.value))


def look_up(frame: FrameType, node: ast.AST) -> Any:
    """What a name or dotted name stands for in a frame; None where that cannot be told without running code."""
    if isinstance(node, ast.Name):
        if node.id in frame.f_locals:
            return frame.f_locals[node.id]
        return frame.f_globals.get(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        held, key = look_up(frame, node.value), node.slice.value
        if type(held) is dict:
            return held.get(key)
        inside = type(held) in (list, tuple) and isinstance(key, int) and -len(held) <= key < len(held)
        return held[key] if inside else None
    if isinstance(node, ast.Attribute):
        space = getattr(look_up(frame, node.value), "__dict__", None)
        if isinstance(space, dict):
            for inside in (space, *(space.get(key) for key in ("_parameters", "_buffers", "_modules"))):
                if isinstance(inside, dict) and node.attr in inside:
                    return inside[node.attr]
    return None


def traced(value: torch.Tensor) -> Where | None:
    """Where autograd's anomaly mode saw a tensor being made."""
    metadata = getattr(value.grad_fn, "metadata", None) if value.grad_fn is not None else None
    lines = (metadata or {}).get("traceback_") or ()
    for text in reversed(lines):
        match = _TRACE.search(text)
        if match and kind_of(match[1]) == _USER:
            return Where(compile("", match[1], "exec"), -1, int(match[2]))
    return None


def made(way: list[Frame], at: int, node: ast.AST, left: int = _FAR) -> Where | None:
    """Where the value of a name was made: the assignment before the line, or what the caller passed."""
    value = look_up(way[at].frame, node)
    if isinstance(value, torch.Tensor) and (seen := traced(value)) is not None:
        return seen
    if isinstance(node, ast.Subscript):
        return made(way, at, node.value, left)
    if isinstance(node, ast.Attribute):
        owner = look_up(way[at].frame, node.value)
        return source.assigned(owner, node.attr) if owner is not None else None
    if not isinstance(node, ast.Name) or not left:
        return None
    code = way[at].frame.f_code
    if node.id in way[at].frame.f_locals:
        line = _assignment(code.co_filename, code.co_firstlineno, code.co_name, node.id, way[at].line)
    else:
        line = _assignment(code.co_filename, 1, "<module>", node.id, None)
    if line is not None:
        source_name = _unpacked(code.co_filename, line)
        if source_name is not None and source_name.id != node.id:
            # Handed on under another name: `inputs, labels = batch`.
            before = way[at]._replace(line=line)
            deeper = made([*way[:at], before], at, source_name, left - 1)
            if deeper is not None:
                return deeper
        return Where(code, -1, line)
    parameters = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    return _passed(way, at, node.id, parameters, left) if node.id in parameters else None


def _assignment(filename: str, first: int, name: str, wanted: str, before: int | None) -> int | None:
    """The last line above `before` that binds a name in a function, or in a loop the last below it."""
    scope: ast.AST | None = tree_of(filename)
    if scope is None:
        return None
    if name != "<module>":
        scope = next(
            (
                node for node in ast.walk(scope)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name
                and min([node.lineno, *(d.lineno for d in node.decorator_list)]) == first
            ),
            None,
        )
        if scope is None:
            return None
    lines = sorted(_bindings(scope, wanted))
    above = [line for line in lines if before is None or line < before]
    return above[-1] if above else lines[-1] if lines and before not in lines else None


def _unpacked(filename: str, row: int) -> ast.Name | None:
    """The name on the right of an assignment that only gives other names to what it holds."""
    tree = tree_of(filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign) and node.lineno == row and isinstance(node.value, ast.Name):
            return node.value
    return None


def _bindings(scope: ast.AST, wanted: str) -> list[int]:
    found = []
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Name) and node.id == wanted and isinstance(node.ctx, ast.Store):
            found.append(node.lineno)
        todo.extend(ast.iter_child_nodes(node))
    return found


def _passed(way: list[Frame], at: int, name: str, parameters: tuple[str, ...], left: int) -> Where | None:
    """Where the caller made what it passed as a parameter. Between a model's call and its forward lies torch's own."""
    caller = at - 1
    while caller >= 0 and way[caller].frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl", "inner"):
        caller -= 1
    if caller < 0 or way[caller].kind != _USER:
        return None
    call = expression(way[caller])
    if not isinstance(call, ast.Call):
        return None
    position = parameters.index(name) - (parameters[:1] == ("self",))
    given = next((word.value for word in call.keywords if word.arg == name), None)
    if given is None and 0 <= position < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args):
        given = call.args[position]
    if given is None:
        return None
    if _is_path(given):
        return made(way, caller, given, left - 1)
    return Where(way[caller].frame.f_code, -1, given.lineno)
