"""The folders that a program puts on the import path by itself: `sys.path.append("utils")`. What is worked out is text, constant
names and where the file lies; what is asked for is left to `modules.py`."""

from __future__ import annotations

import ast
import posixpath
import warnings
from collections.abc import Iterable, Iterator

from torchlint.files.reading import NO_SOURCE

BESIDE = "./"  # before what is meant from the folder of the file, not from the one that the program is started in
_MOST = 16  # folders of a file
_HERE = "\1"  # stands in a text for the folder that the file is in
_SAME = frozenset({"abspath", "realpath", "normpath", "fspath", "str", "resolve", "absolute", "as_posix"})
_JOINS = frozenset({"join", "joinpath", "Path", "PurePath"})
_PATHS = frozenset({"os", "path", "osp", "pathlib"})  # whose functions these are, where they are no methods


def added_folders(text: str, tree: ast.Module | None = None) -> tuple[str, ...]:
    """The folders, relative ones, that the statements of a file add; none where the text does not parse.

    Args:
        text: what stands in the file.
        tree: the same, parsed already.
    """
    if "sys.path" not in text:
        return ()
    try:
        found = dict.fromkeys(filter(None, map(_folder, _added((tree or _parsed(text)).body, {}))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(found)[:_MOST]


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own complaints about the code
        return ast.parse(text)


def _added(body: Iterable[ast.AST], known: dict[str, str]) -> Iterator[str]:
    """What is added, as text, in the order of the statements; those inside of functions may never run."""
    for node in body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = _text(node.value, known)
            if value is None:
                known.pop(node.targets[0].id, None)
            else:
                known[node.targets[0].id] = value
        elif isinstance(node, ast.AugAssign) and _is_search_path(node.target):
            yield from _texts(node.value, known)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _of_call(node.value, known)
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
            yield from _added(ast.iter_child_nodes(node), known)


def _of_call(node: ast.Call, known: dict[str, str]) -> Iterator[str]:
    if not isinstance(node.func, ast.Attribute) or not _is_search_path(node.func.value):
        return
    at = {"append": 0, "insert": 1, "extend": 0}.get(node.func.attr)
    if at is None or len(node.args) != at + 1:
        return
    if node.func.attr == "extend":
        yield from _texts(node.args[0], known)
    else:
        value = _text(node.args[at], known)
        if value is not None:
            yield value


def _is_search_path(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "path" and isinstance(node.value, ast.Name) and node.value.id == "sys"


def _texts(node: ast.expr, known: dict[str, str]) -> Iterator[str]:
    items = node.elts if isinstance(node, (ast.List, ast.Tuple)) else ()
    yield from (value for item in items if (value := _text(item, known)) is not None)


def _folder(text: str) -> str:
    """A path as it is told; empty where it says nothing: it is not known from where it is meant, or holds what is found without it."""
    before, here, path = text.rpartition(_HERE)
    if before or "\0" in path or (path and path[0] != "/" if here else path[:1] == "/"):
        return ""
    path = posixpath.normpath(path.strip("/") or ".")
    parts = set(path.split("/"))
    if parts <= {".", ".."} or parts & NO_SOURCE or any(part.startswith(".") for part in parts - {".."}):
        return ""
    return BESIDE + path if here else path


def _text(node: ast.expr, known: dict[str, str]) -> str | None:
    """The text of an expression that makes a path; None where it is not known."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) and _HERE not in node.value else None
    if isinstance(node, ast.Name):
        return f"{_HERE}/file" if node.id == "__file__" else known.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Div)):
        left, right = _text(node.left, known), _text(node.right, known)
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else posixpath.join(left, right)
    if isinstance(node, ast.Attribute):
        return _above(_text(node.value, known), 1) if node.attr == "parent" else None
    if isinstance(node, ast.Subscript):
        return _of_subscript(node, known)
    return _of_function(node, known) if isinstance(node, ast.Call) else None


def _of_subscript(node: ast.Subscript, known: dict[str, str]) -> str | None:
    """`path.parents[1]`, `os.path.split(path)[0]`."""
    number = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < _MOST:
        return None
    if isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
        return _above(_text(node.value.value, known), number + 1)
    if isinstance(node.value, ast.Call) and _name(node.value.func) == "split" and number == 0 and len(node.value.args) == 1:
        return _above(_text(node.value.args[0], known), 1) if _of_paths(node.value.func) else None
    return None


def _of_function(node: ast.Call, known: dict[str, str]) -> str | None:
    name = _name(node.func)
    if name in ("getcwd", "cwd"):
        return "."
    given = node.args if _of_paths(node.func) else [node.func.value, *node.args]
    texts = [value for one in given if (value := _text(one, known)) is not None]
    if not texts or len(texts) != len(given):
        return None
    if name in _JOINS:
        return posixpath.join(*texts)
    if len(texts) > 1:
        return None
    return _above(texts[0], 1) if name == "dirname" else texts[0] if name in _SAME else None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _of_paths(node: ast.expr) -> bool:
    """Whether a function is one of `os.path` and the like, no method."""
    return not isinstance(node, ast.Attribute) or _name(node.value) in _PATHS


def _above(path: str | None, levels: int) -> str | None:
    for _ in range(levels if path is not None else 0):
        before, slash, last = path.rpartition("/")
        path = before if slash and last not in (".", "..") else f"{path}/.."
    return path
