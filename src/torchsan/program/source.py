"""Looking things up in the source of a class: where an attribute is assigned, which methods read it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

from torchsan.own import inspect, linecache, os
from torchsan.program.cells import as_typed
from torchsan.program.where import _USER, Where, kind_of

_SHORT = 200  # characters of a text that may be the path of a layer, and no prose
_MOVES = frozenset(("to", "cuda", "cpu", "type_as", "shape", "size", "dtype", "device", "numel", "item"))


# By class: where in its bases the first one of the user's stands. A model of many layers has them of few classes.
_users: WeakKeyDictionary[type, int] = WeakKeyDictionary()


@lru_cache(maxsize=64)
def tree_of(filename: str) -> ast.Module | None:
    """The syntax tree of a file; None where there is none to be had."""
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=256)
def class_tree(cls: type) -> tuple[ast.ClassDef, CodeType] | None:
    """The class's syntax tree, and code of one of its methods (for the file's name); None where it is not to be had.

    It is found by where its methods begin. By the names of the class and its module it may be another one: several of a
    file have the same name, and text that is executed says that it belongs to a module of which it is no part.
    """
    for function in vars(cls).values():
        if inspect.isfunction(function):
            code = as_typed(inspect.unwrap(function).__code__)
            found = _classes(code.co_filename).get((cls.__name__, code.co_name, code.co_firstlineno))
            if found is not None:
                return found, code
    return None


@lru_cache(maxsize=64)
def _classes(filename: str) -> dict[tuple[str, str, int], ast.ClassDef]:
    """The classes of a file, by their own name, and the name and first row of any method."""
    found = {}
    tree = tree_of(filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ClassDef):
            for method in ast.walk(node):
                if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    first = min([method.lineno, *(one.lineno for one in method.decorator_list)])
                    found[node.name, method.name, first] = node
    return found


def users_class(thing: Any) -> type | None:
    """The first class of an object's that the user wrote."""
    kind = type(thing)
    at = _users.get(kind)
    if at is None:
        at = _users[kind] = next((at for at, cls in enumerate(kind.__mro__) if _is_users(cls)), -1)
    return kind.__mro__[at] if at >= 0 else None


def _is_users(cls: type) -> bool:
    first = next((f for f in vars(cls).values() if inspect.isfunction(f)), None)
    return first is not None and kind_of(first.__code__.co_filename) == 0


def assigned(thing: Any, name: str) -> Where | None:
    """The line of `self.<name> = ...` in the classes of `thing`, the most derived first."""
    for cls in type(thing).__mro__:
        known = class_tree(cls)
        if known is None:
            continue
        body, code = known
        for node in ast.walk(body):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and any(_is_self(target, name) for target in targets):
                return Where(code, -1, node.lineno)
    return None


def grows(thing: Any, name: str) -> Where | None:
    """The line in the classes of `thing` that adds to `self.<name>`."""
    for cls in type(thing).__mro__:
        known = class_tree(cls)
        if known is not None:
            body, code = known
            rows = growing_rows(body, f"self.{name}")
            if rows:
                return Where(code, -1, rows[0])
    return None


def growing_rows(tree: ast.AST, wanted: str) -> list[int]:
    """The rows that add to a name: `name += ...`, `name = name + ...`, `name.append(...)`, `name[key].append(...)`."""
    rows = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and ast.unparse(node.target).split("[")[0] == wanted:
            rows.append(node.lineno)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
            if ast.unparse(node.targets[0]) == wanted and wanted in {ast.unparse(n) for n in ast.walk(node.value)}:
                rows.append(node.lineno)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("append", "add") and ast.unparse(node.func.value).split("[")[0] == wanted:
                rows.append(node.lineno)
    return rows


def methods_that_use(thing: Any, name: str) -> dict[str, set[str]]:
    """By method of the user's classes: "reads" and "writes" of `self.<name>` in it."""
    found: dict[str, set[str]] = {}
    for cls in type(thing).__mro__:
        known = class_tree(cls)
        if known is None:
            continue
        for function in known[0].body:
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for node in ast.walk(function):
                    if _is_self(node, name):
                        how = "reads" if isinstance(node.ctx, ast.Load) else "writes"
                        found.setdefault(function.name, set()).add(how)
    return found


_DYNAMIC = frozenset("getattr children named_children modules named_modules get_submodule vars".split())


def never_read(thing: Any, name: str, files: Iterable[str]) -> bool:
    """Whether all code is there to be read that could reach `thing.<name>`, and none does: nothing in `files`, or in the
    files of its classes, reads an attribute of that name or writes the name as text, and its own classes look nothing up
    by names that are made at run time. Text that is no file is not enough: the next cell of a notebook may read it."""
    names: set[str] = set(files)
    for cls in type(thing).__mro__:
        if cls is nn.Module or cls.__module__.partition(".")[0] in sys.stdlib_module_names or not _holds_code(cls):
            continue
        known = class_tree(cls)
        if known is None or not os.path.isfile(known[1].co_filename):
            return False
        names.add(known[1].co_filename)
        for node in ast.walk(known[0]) if kind_of(known[1].co_filename) == _USER else ():
            word = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if word in _DYNAMIC or word.startswith("__dict") or word == "_modules":
                return False
    return bool(names) and not any(_reads(file, name) for file in names)


def _holds_code(cls: type) -> bool:
    """Whether a class has anything of its own that runs: a method in any language, a property."""
    parts = (value for value in vars(cls).values() if not isinstance(value, type))
    return any(callable(part) or isinstance(part, (property, classmethod, staticmethod)) for part in parts)


@lru_cache(maxsize=64)
def _words_read(filename: str) -> frozenset[str] | None:
    """The attributes that a file reads, and the words in its texts, by which they can be looked up."""
    tree = tree_of(filename)
    if tree is None:
        return None
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < _SHORT:
            found.update(node.value.split("."))
    return frozenset(found)


def _reads(filename: str, name: str) -> bool:
    """Whether a file may read an attribute of this name: what cannot be read may read anything."""
    lines = linecache.getlines(filename)
    if not lines:
        return not (_is_empty(filename) or filename == "<string>" and _stands_whole_on_the_stack(filename, name))
    if not any(name in line for line in lines):  # to parse each file of a large project takes long
        return False
    known = _words_read(filename)
    return known is None or name in known


def _stands_whole_on_the_stack(filename: str, name: str) -> bool:
    """Whether all texts of this name that are running (`python -c`, what `exec` is given) can be seen whole, as the code that
    was made of them, and none names `name`. What starts the workers of a test run is such a text."""
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == filename:
            frames.append(frame.f_code)
        frame = frame.f_back
    whole = {part for code in frames if code.co_name == "<module>" for part in _parts(code)}
    texts = (constant.split(".") for code in whole for constant in code.co_consts if isinstance(constant, str))
    return whole.issuperset(frames) and name not in set().union(*texts, *(code.co_names for code in whole))


def _parts(code: CodeType) -> Iterator[CodeType]:
    """A piece of code and all that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def _is_empty(filename: str) -> bool:
    try:
        return os.path.getsize(filename) == 0
    except OSError:
        return False


def follows_device(thing: Any, name: str) -> bool:
    """Whether every read of `self.<name>` in the user's classes moves it (`self.name.to(...)`) or reads a plain
    property of it, so that it need not be a buffer."""
    reads = moved = 0
    for cls in type(thing).__mro__:
        known = class_tree(cls)
        if known is None:
            continue
        for node in ast.walk(known[0]):
            if _is_self(node, name) and isinstance(node.ctx, ast.Load):
                reads += 1
            if isinstance(node, ast.Attribute) and _is_self(node.value, name):
                moved += node.attr in _MOVES
    return reads > 0 and moved >= reads


def _is_self(node: Any, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def lost_results(module: Any) -> list[tuple[Where, str]]:
    """The statements at which `forward` of a module's class runs off its end, so that it gives None, and what they
    compute for nobody. Empty where that cannot be told, or where nothing is lost."""
    cls = next((cls for cls in type(module).__mro__ if "forward" in vars(cls)), None)
    known = class_tree(cls) if cls is not None else None
    if known is None or "forward" in vars(module):
        return []
    body, code = known
    forward = next((f for f in body.body if isinstance(f, ast.FunctionDef) and f.name == "forward"), None)
    if forward is None or any(isinstance(node, _OTHER_WAYS) for part in forward.body for node in ast.walk(part)):
        return []
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(forward))
    found = []
    for last in _ends(forward.body):
        text = _computed(last, module, returns)
        if text:
            found.append((Where(code, -1, last.lineno), text))
    return found


# What gives a result otherwise, or keeps it.
_OTHER_WAYS = (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal, ast.FunctionDef, ast.Lambda)


def _ends(body: list[ast.stmt]) -> list[ast.stmt]:
    """The last statements of the paths that run off the end of a body."""
    last = body[-1] if body else None
    if isinstance(last, ast.If):
        return _ends(last.body) + _ends(last.orelse)
    if isinstance(last, ast.With):
        return _ends(last.body)
    return [last] if last is not None else []


def _computed(last: ast.stmt, module: Any, returns: bool) -> str:
    """What a last statement computes for nobody: a local name, or the output of a layer that is thrown away."""
    if isinstance(last, ast.Assign) and len(last.targets) == 1 and isinstance(last.targets[0], ast.Name):
        name = last.targets[0].id
        return name if name.strip("_") and isinstance(last.value, (ast.Call, ast.BinOp, ast.Name)) else ""
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and not returns:
        layer = last.value.func
        if isinstance(layer, ast.Attribute) and _is_self(layer, layer.attr) and layer.attr in module._modules:
            return ast.unparse(last.value)
    return ""
