"""Whether code can be run again: it only computes, or what it changes of the program's can be put back. Judged by reading;
nothing is called."""

from __future__ import annotations

import ast
import builtins
import logging
import textwrap
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any

from torch import nn

from torchsan.nonfinite.undo import Undo
from torchsan.own import inspect, torch
from torchsan.program.where import _USER, kind_of

_BUILTINS = {
    "abs", "all", "any", "bool", "dict", "enumerate", "float", "getattr", "hasattr", "int", "isinstance", "len", "list",
    "max", "min", "range", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip",
}  # fmt: skip
# Methods that change what they are called on, or the world.
_CHANGES = {
    "add", "append", "backward", "clear", "close", "discard", "extend", "insert", "load_state_dict", "log", "pop",
    "popitem", "read", "readline", "remove", "send", "setdefault", "step", "update", "write", "zero_grad",
}  # fmt: skip
_DEPTH = 3  # functions of the user's that are looked into


def writes(name: str) -> bool:
    """Whether a method of a tensor's of this name writes to it."""
    return name.endswith("_") and not name.endswith("__")


def arguments_of(code: CodeType) -> tuple[str, ...]:
    """The names of the arguments of a function."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class Pure:
    """Judges whether code only computes. Names are looked up in a frame; nothing is called."""

    def __init__(self, frame: FrameType, undo: Undo | None = None):
        self.locals, self.globals = frame.f_locals, frame.f_globals
        self.undo = undo

    def statement(self, node: ast.stmt) -> bool:
        """Whether a statement can be run again."""
        if isinstance(node, ast.Assign):
            return all(_plain_target(target) for target in node.targets) and self.expression(node.value)
        if isinstance(node, ast.AnnAssign):
            return node.value is not None and _plain_target(node.target) and self.expression(node.value)
        if isinstance(node, ast.AugAssign):
            # `loss += x` may write to a tensor that was there before: the replay refuses that by itself.
            return _plain_target(node.target) and self.expression(node.value)
        if isinstance(node, ast.If):
            return self.expression(node.test) and self._all(node.body) and self._all(node.orelse)
        if isinstance(node, ast.With):
            items = all(item.optional_vars is None and self.expression(item.context_expr) for item in node.items)
            return items and self._all(node.body)
        if isinstance(node, ast.For):
            return _plain_target(node.target) and self._again(node.iter) and self._all([*node.body, *node.orelse])
        if isinstance(node, ast.Expr):
            # Taken out when it is run again, so it must not be one that changes a tensor.
            call = node.value
            name = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
            return name not in ("backward", "step", "zero_grad") and not writes(name)
        return isinstance(node, (ast.Pass, ast.Assert, ast.Continue, ast.Break))

    def _all(self, block: list[ast.stmt]) -> bool:
        return all(self.statement(statement) for statement in block)

    def _again(self, node: ast.expr) -> bool:
        """Whether a loop can go over something a second time."""
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                known = node.func.id in ("range", "enumerate", "zip", "reversed", "sorted", "list", "tuple")
                return known and all(self._again(arg) for arg in node.args)
            return self.expression(node)
        if isinstance(node, (ast.Name, ast.Attribute)):
            value = self.look_up(node)
            return isinstance(value, (list, tuple, dict, range, int, torch.Tensor, nn.Module)) or value is UNKNOWN
        return self.expression(node)

    def expression(self, node: ast.AST) -> bool:
        """Whether an expression can be evaluated again."""
        for part in ast.walk(node):
            if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom)):
                return False
            if isinstance(part, ast.Call) and not self.call(part):
                return False
        return True

    def call(self, node: ast.Call) -> bool:
        """Whether a call can be made again, whatever its arguments."""
        function = self.look_up(node.func)
        if function is UNKNOWN:
            # A method of something that is only known when it runs: a tensor's, most likely.
            name = node.func.attr if isinstance(node.func, ast.Attribute) else None
            return name is not None and not writes(name) and (name not in _CHANGES or name in ("log", "add"))
        if isinstance(node.func, ast.Attribute):
            owner = self.look_up(node.func.value)
            if isinstance(owner, torch.Tensor):
                return not writes(node.func.attr) and node.func.attr != "backward"
            if isinstance(owner, (torch.optim.Optimizer, torch.utils.data.DataLoader)):
                return False
            if isinstance(owner, (list, dict, set)) and node.func.attr in _CHANGES:
                return False
        return pure(function, undo=self.undo)

    def look_up(self, node: ast.AST) -> Any:
        """The value of a name or dotted name; UNKNOWN for anything else and for what is not there."""
        if isinstance(node, ast.Name):
            for space in (self.locals, self.globals, vars(builtins)):
                if node.id in space:
                    return space[node.id]
            return UNKNOWN
        if isinstance(node, ast.Attribute):
            owner = self.look_up(node.value)
            if owner is UNKNOWN:
                return UNKNOWN
            if isinstance(owner, nn.Module) and "__getattr__" not in type(owner).__dict__:
                for inside in ("_modules", "_parameters", "_buffers"):
                    if node.attr in owner.__dict__.get(inside, ()):
                        return owner.__dict__[inside][node.attr]
            found = inspect.getattr_static(owner, node.attr, UNKNOWN)
            if isinstance(found, FunctionType) and not isinstance(owner, type) and not inspect.ismodule(owner):
                return MethodType(found, owner)
            return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
        return UNKNOWN


class UNKNOWN:
    """Stands for a value that cannot be told without running code."""


def pure(function: Any, depth: int = _DEPTH, undo: Undo | None = None) -> bool:
    """Whether a callable can be called again: a module, a function of torch's, or one of the user's that writes nowhere,
    or only to what `undo` can put back."""
    if isinstance(function, nn.Module):
        return True
    owner = getattr(function, "__module__", None) or ""
    if isinstance(function, type):
        return owner == "builtins" or owner.split(".")[0] in ("torch", "collections") or issubclass(function, nn.Module)
    name = getattr(function, "__name__", "")
    if owner == "builtins":
        return name in _BUILTINS
    if owner.split(".")[0] == "torch" or owner in ("math", "_operator") or "torch" in str(type(function)):
        return not writes(name) and name not in ("backward", "seed", "manual_seed", "save", "load")
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType) and depth:
        return _function(function.__func__, depth, undo, function.__self__)
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType) and depth:
        return _function(function, depth, undo)
    call = getattr(type(function), "__call__", None)
    if isinstance(call, FunctionType) and depth and undo is not None and kind_of(call.__code__.co_filename) == _USER:
        return _function(call, depth, undo, function)
    return type(function).__name__ in ("method_descriptor", "builtin_function_or_method", "getset_descriptor") and (
        not writes(name) and name not in _CHANGES
    )


class _Scope(Pure):
    """The names of a function that is not running: what it is bound to, its closure, its globals."""

    def __init__(self, function: FunctionType, owner: Any, undo: Undo | None):
        code = function.__code__
        self.cells = dict(zip(code.co_freevars, function.__closure__ or ()))
        self.undo, self.globals = undo, function.__globals__
        self.locals = {name: cell.cell_contents for name, cell in self.cells.items() if _is_bound(cell)}
        self.own = set(code.co_varnames) | set(code.co_cellvars)
        self.arguments = set(arguments_of(code))
        if owner is not None and code.co_argcount:
            self.locals[code.co_varnames[0]] = owner

    def look_up(self, node: ast.AST) -> Any:
        """As of a frame; a variable of the function's own is not known."""
        if isinstance(node, ast.Name) and node.id in self.own and node.id not in self.locals:
            return UNKNOWN
        return super().look_up(node)

    def written(self, node: ast.Attribute | ast.Subscript) -> bool:
        """Whether `node = value` writes to what the function made itself, or to what can be put back."""
        base: ast.expr = node.value
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        if isinstance(base, ast.Name) and base.id in self.own and base.id not in self.arguments:
            return True
        held = self.look_up(node.value)
        if self.undo is None or held is UNKNOWN:
            return False
        return self.undo.attributes(held) if isinstance(node, ast.Attribute) else self.undo.content(held)

    def changed(self, call: ast.Call, depth: int) -> bool:
        """Whether a method that may change what it is called on can be called again."""
        held, function = self.look_up(call.func.value), self.look_up(call.func)  # type: ignore[attr-defined]
        if self.undo is None or held is UNKNOWN:
            return False
        if isinstance(held, logging.Logger):
            self.undo.logger(held)
            return True
        if isinstance(held, (torch.optim.Optimizer, torch.utils.data.DataLoader, torch.Tensor)):
            return False
        return self.undo.content(held) or (_is_users(function) and pure(function, depth - 1, self.undo))


def _is_users(function: Any) -> bool:
    """Whether something is a method that the user wrote: what a library's writes to, nobody has read."""
    code = getattr(getattr(function, "__func__", None), "__code__", None)
    return code is not None and kind_of(code.co_filename) == _USER


def _is_bound(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _function(function: FunctionType, depth: int, undo: Undo | None = None, owner: Any = None) -> bool:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    scope = _Scope(function, owner, undo)
    local = set(function.__code__.co_varnames)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return False
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            if undo is None:
                return False
            for name in node.names:
                if name in scope.cells and _is_bound(scope.cells[name]):
                    undo.cell(scope.cells[name])
                else:
                    undo.name(function.__globals__, name)
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if not scope.written(node):
                return False
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            may_change = undo is not None and isinstance(node.value.func, ast.Attribute)
            if not _harmless(node.value) and not (may_change and scope.changed(node.value, depth)):
                return False
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                space = {**vars(builtins), **function.__globals__}
                called = space.get(node.func.id)
                if node.func.id in local:
                    continue  # a local: most likely a module or a function that was passed
                if called is None and node.func.id in scope.locals:
                    called = scope.locals[node.func.id]
                if called is None or (called is not function and not pure(called, depth - 1, undo)):
                    return False
            elif isinstance(node.func, ast.Attribute) and not _method(node, scope, local, depth):
                return False
    return True


def _method(node: ast.Call, scope: _Scope, local: set[str], depth: int) -> bool:
    """Whether the call of a method, or of a function by its dotted name, can be made again."""
    name, base = node.func.attr, node.func.value  # type: ignore[attr-defined]
    of_torch = isinstance(base, ast.Name) and base.id in ("torch", "F", "math")
    if of_torch:
        return True
    if writes(name):
        return False
    if name in ("append", "extend"):
        own = isinstance(base, ast.Name) and base.id in local and base.id not in scope.arguments
        return own or scope.changed(node, depth)
    if name in _CHANGES and name not in ("log", "add"):
        return scope.changed(node, depth)
    function = scope.look_up(node.func)
    if scope.undo is not None and _is_users(function) and not isinstance(function.__self__, nn.Module) and depth > 1:
        pure(function, depth - 1, scope.undo)  # what it writes to is put back
    return True


def sets_attribute(method: Any, name: str) -> bool:
    """Whether a method of the user's assigns `self.<name>`."""
    function = getattr(method, "__func__", None)
    if not isinstance(function, FunctionType) or not function.__code__.co_argcount:
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    own = function.__code__.co_varnames[0]
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == name
        and isinstance(node.value, ast.Name) and node.value.id == own
        for node in ast.walk(tree)
    )


def _harmless(call: ast.Call) -> bool:
    """Whether a call that stands for itself may be made again: a print (which a replay keeps to itself), a list that
    grows (looked at by the caller), a check of torch's."""
    if isinstance(call.func, ast.Name):
        return call.func.id == "print"
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in ("append", "extend") or ast.unparse(call.func.value) == "torch"
    return False


def _plain_target(node: ast.AST) -> bool:
    if isinstance(node, (ast.Tuple, ast.List)):
        return all(_plain_target(item) for item in node.elts)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Starred) and _plain_target(node.value))
