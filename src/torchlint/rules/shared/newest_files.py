"""Whether a program reads the newest of the files that it writes: `sorted(glob("out/model_*.pt"))[-1]`, beside
`torch.save(..., f"out/model_{epoch}.pt")`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.rules.shared.file_names import Bindings, Hole, Name, folder_and_file

_LISTS = frozenset({"glob", "iglob", "listdir", "scandir", "rglob", "iterdir"})
_TELLING = 3


def newest_of(names: Bindings, value: ast.expr, scope: int, written: Name) -> bool:
    """Whether what is read is the last, or the greatest, of the files in the folder of a name that is written, or of those that match
    a pattern like it."""
    folder, file = folder_and_file(written)
    if not any(isinstance(part, Hole) for part in file):
        return False
    return any(_holds(names.name(call.args[0], at), folder, file, _is_folder(call)) for call, at in _listed(names, value, scope))


def _holds(listed: Name, folder: Name, file: Name, whole: bool) -> bool:
    if whole:
        return bool(folder) and _texts(listed) == _texts(folder)
    read_folder, pattern = folder_and_file(listed)
    if _texts(read_folder) != _texts(folder) and all(isinstance(part, str) for part in (*read_folder, *folder)):
        return False
    first, begun = pattern[0] if pattern else "", file[0]
    if not isinstance(first, str) or not isinstance(begun, str):
        return False
    stem = first.partition("*")[0]
    return len(stem) >= _TELLING and "*" in first and (begun.startswith(stem) or stem.startswith(begun) and len(begun) >= _TELLING)


def _texts(name: Name) -> list[str]:
    return [text for part in name if (text := part.strip("/") if isinstance(part, str) else part.text)]


def _is_folder(call: ast.Call) -> bool:
    return _called(call) in ("listdir", "scandir")


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _listed(names: Bindings, value: ast.expr, scope: int, depth: int = 0) -> Iterator[tuple[ast.Call, int]]:
    """The calls that list the files of which the last or the greatest is read."""
    for part in ast.walk(value):
        if isinstance(part, ast.Subscript) and ast.unparse(part.slice) == "-1":
            yield from _lists(names, part.value, scope)
        elif isinstance(part, ast.Call) and _called(part) == "max" and part.args:
            yield from _lists(names, part.args[0], scope)
        elif isinstance(part, ast.Name) and depth < 2:
            for given, at in names.given(part.id, scope):
                yield from _listed(names, given, at, depth + 1)


def _lists(names: Bindings, value: ast.expr, scope: int, depth: int = 0) -> Iterator[tuple[ast.Call, int]]:
    for part in ast.walk(value):
        if isinstance(part, ast.Call) and _called(part) in _LISTS and part.args:
            yield part, scope
        elif isinstance(part, ast.Name) and depth < 2:
            for given, at in names.given(part.id, scope):
                yield from _lists(names, given, at, depth + 1)
