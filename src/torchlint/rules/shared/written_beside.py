"""What other functions and programs of the project put into the checkpoints that a `torch.load` reads, beside the keys that it asks for:
settings, and objects of scikit-learn and the like."""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchlint.dryrun.source_text import Site
from torchlint.rules.base import View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.refused_kinds import NAMESPACE, of_a_package

_SAVES = re.compile(r"\btorch\.save\(|(?<!def )save_checkpoint\(")


class Beside(NamedTuple):
    """A part of a checkpoint, what it is, and the file and row that put it there."""

    key: str
    kind: str
    path: str
    row: int


def object_beside(view: View, load: Site, keys: set[str]) -> Beside | None:
    """The Namespace, or the object of a package's class, that each dict of the project holds in which there is all that is asked of a file."""
    found: list[Beside | None] = []
    for path, code in _files(view, load):
        if _saves(code) and all(f'"{key}"' in code or f"'{key}'" in code for key in keys):
            found += _of_file(path, code, frozenset(keys))
    return found[0] if found and None not in found else None


def _files(view: View, load: Site) -> Iterator[tuple[str, str]]:
    """The paths and texts of a project, or of the file that stands alone."""
    path = load.parsed.facts.path
    project = view.run.world.project_of(path)
    files = {other: file.code for other, file in project.files.items()} if project is not None else {}
    yield from sorted({path: text_of(load.parsed), **files}.items())


@functools.lru_cache(maxsize=1024)  # each load of each run asks the same of all files
def _saves(code: str) -> bool:
    return _SAVES.search(code) is not None


@functools.lru_cache(maxsize=64)  # each run that comes by a load asks the same of the same files
def _of_file(path: str, code: str, keys: frozenset[str]) -> tuple[Beside | None, ...]:
    """For each dict with these keys in a file, what of it is such an object; None for one that has none."""
    try:
        tree = tree_of(code)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(_dicts_in(tree, path, keys))


def _dicts_in(tree: ast.Module, path: str, keys: frozenset[str]) -> Iterator[Beside | None]:
    objects: dict[str, str] | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        known = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)}
        if keys <= known.keys():
            objects = _objects(tree) if objects is None else objects
            yield next((Beside(key, objects[name], os.path.basename(path), value.lineno) for key, value in known.items()
                        if (name := _name_of(value)) in objects), None)


def _name_of(node: ast.expr) -> str:
    """A name, or an attribute of `self`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _objects(tree: ast.Module) -> dict[str, str]:
    """The names that are given nothing else than objects of a kind: what a parser of arguments gives, by itself or by a function of the
    file, or what a class of a package makes."""
    parsers = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _gives_arguments(node)}
    imported = _imported(tree)
    given: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and not _is_read(node.value):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            parsed = _is_parsed(node.value) or isinstance(called, ast.Name) and called.id in parsers
            kind = NAMESPACE if parsed else _of_a_class(called, imported)
            for target in node.targets:
                given.setdefault(_name_of(target), set()).add(kind)
    return {name: kind for name, kinds in given.items() if name and len(kinds) == 1 and (kind := next(iter(kinds)))}


def _is_read(value: ast.expr) -> bool:
    """Whether a statement takes something back out of a checkpoint: `self.encoder = saved["encoder"]`."""
    return isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant) and isinstance(value.slice.value, str)


def _imported(tree: ast.Module) -> dict[str, str]:
    """What the imported names of a file stand for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return found


def _of_a_class(called: ast.expr | None, imported: dict[str, str]) -> str:
    """What a call makes, where it is a class that pickles need by its name; empty for all else."""
    first, dot, rest = ast.unparse(called).partition(".") if called is not None else ("", "", "")
    return of_a_package(imported.get(first, first) + dot + rest) or ""


def _gives_arguments(function: ast.FunctionDef) -> bool:
    """Whether a function returns what `parse_args` has given it."""
    names = {
        target.id for node in ast.walk(function) if isinstance(node, ast.Assign) and _is_parsed(node.value)
        for target in node.targets if isinstance(target, ast.Name)
    }
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return bool(returned) and all(isinstance(value, ast.Name) and value.id in names or _is_parsed(value) for value in returned)


def _is_parsed(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "parse_args"
