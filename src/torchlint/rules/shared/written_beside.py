"""What another program of the project puts into the checkpoints that a `torch.load` reads, beside the keys that it asks for: settings."""

from __future__ import annotations

import ast
import functools
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchlint.dryrun.source_text import Site
from torchlint.rules.base import View
from torchlint.rules.mends.rows import tree_of

_SAVES = re.compile(r"\btorch\.save\(|(?<!def )save_checkpoint\(")


class Beside(NamedTuple):
    """A part of a checkpoint, and the file and row that put it there."""

    key: str
    path: str
    row: int


def namespace_beside(view: View, load: Site, keys: set[str]) -> Beside | None:
    """The Namespace that each dict of the project holds in which there is all that is asked of a file."""
    project = view.run.world.project_of(load.parsed.facts.path)
    found: list[Beside | None] = []
    for path, file in sorted(project.files.items()) if project is not None else ():
        if all(f'"{key}"' in file.code or f"'{key}'" in file.code for key in keys) and _SAVES.search(file.code):
            found += _of_file(path, file.code, frozenset(keys))
    return found[0] if found and None not in found else None


@functools.lru_cache(maxsize=64)  # each run that comes by a load asks the same of the same files
def _of_file(path: str, code: str, keys: frozenset[str]) -> tuple[Beside | None, ...]:
    """For each dict with these keys in a file, what of it is a Namespace; None for one that has none."""
    try:
        tree = tree_of(code)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(_dicts_in(tree, path, keys))


def _dicts_in(tree: ast.Module, path: str, keys: frozenset[str]) -> Iterator[Beside | None]:
    spaces: set[str] | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        known = {key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)}
        if keys <= known.keys():
            spaces = _namespaces(tree) if spaces is None else spaces
            yield next((Beside(key, os.path.basename(path), value.lineno) for key, value in known.items()
                        if isinstance(value, ast.Name) and value.id in spaces), None)


def _namespaces(tree: ast.Module) -> set[str]:
    """The names that are given what a parser of arguments gives, by itself or by a function of the file, and nothing else."""
    parsers = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _gives_arguments(node)}
    given: dict[str, list[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            called = node.value.func if isinstance(node.value, ast.Call) else None
            parsed = _is_parsed(node.value) or isinstance(called, ast.Name) and called.id in parsers
            for target in node.targets:
                if isinstance(target, ast.Name):
                    given.setdefault(target.id, []).append(parsed)
    return {name for name, ways in given.items() if all(ways)}


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
