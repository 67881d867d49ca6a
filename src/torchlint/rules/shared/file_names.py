"""Names of files as source writes them: whether two expressions name one file, or one of the files that are numbered in turn."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_COUNTS = re.compile(r"^(?:n_|cur_|current_|global_|total_|i_)?(?:epochs?|ep|e|i|t|iters?|iterations?|it|steps?|episodes?|idx|count|counter|num|number|k|n)(?:_?(?:i|idx|num|count|no))?$", re.I)
_FORMATTED = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdifgr]")
_FIELD = re.compile(r"\{([^{}:!]*)[^{}]*\}")
_HOLE = re.compile("\x01(\\d+)\x02")
_DEEP = 5
_TELLING = 3  # letters that say whose file it is


@dataclass(slots=True, frozen=True)
class Hole:
    """A part of a name that is known when the program runs; of a local name with the row of its function."""

    text: str
    scope: int | None = None


Name = tuple["str | Hole", ...]


class Bindings:
    """What the names of a file are bound to, where that is done once."""

    def __init__(self, tree: ast.Module):
        self._bound: dict[tuple[int | None, str], list[tuple[ast.expr | None, int]]] = {}
        self._outer: dict[int, int] = {}
        self._defaults: dict[str, list[str]] = {}
        self.functions: list[tuple[int, int, str]] = []
        self.classes: dict[int, ast.ClassDef] = {}  # by the row of a method
        self.saves: list[tuple[ast.expr, int, int]] = []  # the name of a file that is written, the row, and the function
        self._params: dict[int, list[str]] = {}
        self._calls: dict[str, list[tuple[ast.Call, int]]] = {}
        self._scan(tree, 0)
        self.saves += [one for written in self.saves for one in self._handed_to(written)]

    def name(self, value: ast.expr, scope: int, depth: int = 0) -> Name:
        """A file's name, with what is known of its parts put in."""
        return _joined(self._pieces(value, scope, depth))

    def scope_at(self, row: int) -> int:
        """The row of the innermost function around a row, 0 for the module."""
        return max((start for start, end, _ in self.functions if start <= row <= end), default=0)

    def given(self, text: str, scope: int) -> list[tuple[ast.expr, int]]:
        """All that a name is bound to, as far as that stands in assignments, each with its function."""
        return [(value, at) for value, at in self._known(text, scope)[0] if value is not None]

    def argument(self, call: ast.Call, function: int, name: str) -> ast.expr | None:
        """What a call gives to a parameter of a function of the file."""
        params = self._params.get(function, [])
        if params[:1] == ["self"] and isinstance(call.func, ast.Attribute):
            params = params[1:]
        given = [keyword.value for keyword in call.keywords if keyword.arg == name]
        given += [arg for param, arg in zip(params, call.args) if param == name and not isinstance(arg, ast.Starred)]
        return given[0] if given else None

    def parameter(self, value: ast.expr, scope: int) -> str | None:
        """The parameter of a function that an expression is, if nothing else is put into it there."""
        text = value.id if isinstance(value, ast.Name) else ""
        return text if text in self._params.get(scope, ()) and len(self._bound[scope, text]) == 1 else None

    def _handed_to(self, written: tuple[ast.expr, int, int]) -> Iterator[tuple[ast.expr, int, int]]:
        """What the callers of a function give to it, where it writes a file of whatever name it is given."""
        value, _, function = written
        param = self.parameter(value, function)
        name = next((name for start, _, name in self.functions if start == function), "")
        for call, scope in self._calls.get(name, ()) if param is not None else ():
            given = self.argument(call, function, param)
            if given is not None:
                yield given, call.lineno, scope

    def _scan(self, node: ast.AST, scope: int) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = child.lineno
                self._outer[inner] = scope
                self.functions.append((inner, child.end_lineno or inner, child.name))
                if isinstance(node, ast.ClassDef):
                    self.classes[inner] = node
                given = child.args
                self._params[inner] = [arg.arg for arg in (*given.posonlyargs, *given.args)]
                for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
                    if arg is not None:
                        self._bind(inner, arg.arg, None)
            elif isinstance(child, ast.Assign):
                for target in child.targets:
                    self._assign(scope, target, child.value)
            elif isinstance(child, ast.AnnAssign) and child.value is not None:
                self._assign(scope, child.target, child.value)
            elif isinstance(child, ast.AugAssign):
                self._assign(scope, child.target, None)
            elif isinstance(child, (ast.For, ast.AsyncFor, ast.comprehension)):
                self._assign(scope, child.target, None)
            elif isinstance(child, ast.withitem) and child.optional_vars is not None:
                self._assign(scope, child.optional_vars, _opened(child.context_expr))
            elif isinstance(child, ast.Call):
                self._call(child, scope)
            self._scan(child, inner)

    def _call(self, call: ast.Call, scope: int) -> None:
        func = call.func
        if isinstance(func, (ast.Name, ast.Attribute)):
            self._calls.setdefault(func.id if isinstance(func, ast.Name) else func.attr, []).append((call, scope))
        if not isinstance(func, ast.Attribute):
            return
        if func.attr == "save" and isinstance(func.value, ast.Name) and func.value.id in ("torch", "th", "T") and len(call.args) > 1:
            self.saves.append((call.args[1], call.lineno, scope))
        elif func.attr == "add_argument":
            names = [arg.value.lstrip("-") for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            for keyword in call.keywords:
                if keyword.arg == "default" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                    for name in names:
                        self._defaults.setdefault(name.replace("-", "_"), []).append(keyword.value.value)

    def _assign(self, scope: int, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._bind(scope, target.id, value)
        elif isinstance(target, ast.Attribute):
            self._bind(None, ast.unparse(target), value, scope)
        else:
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    self._bind(scope, part.id, None)

    def _bind(self, scope: int | None, name: str, value: ast.expr | None, at: int = 0) -> None:
        self._bound.setdefault((scope, name), []).append((value, at if scope is None else scope))

    def _known(self, text: str, scope: int | None) -> tuple[list[tuple[ast.expr | None, int]], int | None]:
        while scope is not None:
            if (scope, text) in self._bound:
                return self._bound[scope, text], scope
            scope = self._outer.get(scope) if scope else None
        return self._bound.get((None, text), []), None

    def _pieces(self, value: ast.expr, scope: int, depth: int) -> Iterator[str | Hole]:
        if isinstance(value, ast.Constant) and isinstance(value.value, (str, int)):
            yield str(value.value)
        elif isinstance(value, ast.JoinedStr):
            for part in value.values:
                yield from self._pieces(part.value if isinstance(part, ast.FormattedValue) else part, scope, depth)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Div)) and not (_is_number(value.left) or _is_number(value.right)):
            yield from self._pieces(value.left, scope, depth)
            if isinstance(value.op, ast.Div):
                yield "/"
            yield from self._pieces(value.right, scope, depth)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mod) and (text := self._template(value.left, scope, depth)) is not None:
            given = list(value.right.elts) if isinstance(value.right, ast.Tuple) else [value.right]
            yield from self._filled(_FORMATTED.split(text), given, scope, depth)
        elif isinstance(value, ast.Call):
            yield from self._called(value, scope, depth)
        elif isinstance(value, (ast.Name, ast.Attribute)):
            yield from self._named(value, scope, depth)
        else:
            yield self._unknown(value, scope)

    def _unknown(self, value: ast.expr, scope: int) -> Hole:
        local = any(isinstance(part, ast.Name) and part.id != "self" and (scope, part.id) in self._bound for part in ast.walk(value))
        return Hole(ast.unparse(value), scope if local else None)

    def _called(self, call: ast.Call, scope: int, depth: int) -> Iterator[str | Hole]:
        name = ast.unparse(call.func)
        if name.endswith("path.join") or name.endswith("osp.join") or name == "join":
            for at, part in enumerate(call.args):
                if at:
                    yield "/"
                yield from self._pieces(part, scope, depth)
        elif (
            isinstance(call.func, ast.Attribute) and call.func.attr == "format"
            and (text := self._template(call.func.value, scope, depth, _FIELD)) is not None
        ):
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            given = []
            for at, field in enumerate(_FIELD.findall(text)):
                place = int(field) if field.isdecimal() else at
                given.append(named.get(field) or (call.args[place] if place < len(call.args) else None))
            yield from self._filled(_FIELD.sub("\x01", text).split("\x01"), given, scope, depth)
        elif name in ("str", "repr", "Path", "pathlib.Path", "os.path.abspath", "os.path.expanduser") and len(call.args) == 1:
            yield from self._pieces(call.args[0], scope, depth)
        else:
            yield self._unknown(call, scope)

    def _template(self, value: ast.expr, scope: int, depth: int, places: re.Pattern[str] = _FORMATTED) -> str | None:
        """A text that is made a name by what is put into its places, `"model_%d.pt" % epoch`: one that stands there, an f-string with nothing
        put into it, or what a name is bound to."""
        if isinstance(value, ast.Constant):
            return str(value.value)
        pieces = list(self._pieces(value, scope, depth + 1)) if isinstance(value, (ast.JoinedStr, ast.Name, ast.Attribute)) and depth < _DEEP else []
        text = "".join(piece for piece in pieces if isinstance(piece, str))
        return text if pieces and all(isinstance(piece, str) for piece in pieces) and places.search(text) else None

    def _filled(self, texts: list[str], given: list[ast.expr | None], scope: int, depth: int) -> Iterator[str | Hole]:
        for at, text in enumerate(texts):
            if at:
                part = given[at - 1] if at <= len(given) else None
                yield from self._pieces(part, scope, depth) if part is not None else [Hole("?", scope)]
            yield text

    def _named(self, value: ast.Name | ast.Attribute, scope: int, depth: int) -> Iterator[str | Hole]:
        text = ast.unparse(value)
        bound, at = self._known(text, scope if isinstance(value, ast.Name) else None)
        given = [one for one in bound if one[0] is not None]
        if depth < _DEEP and given and len(bound) == len(given) and len({ast.dump(one) for one, _ in given}) == 1:
            yield from self._pieces(given[0][0], given[0][1], depth + 1)
            return
        default = self._defaults.get(text.rpartition(".")[2], [])
        if isinstance(value, ast.Attribute) and not bound and len(default) == 1 and default[0] and not text.startswith("self."):
            yield default[0]
            return
        yield Hole(text, at if isinstance(value, ast.Name) and at else None)


@lru_cache(maxsize=2)
def bindings_of(text: str) -> Bindings:
    """What the names of a file are bound to, of its text.

    Raises:
        SyntaxError: the text does not parse.
    """
    return Bindings(ast.parse(text))


def one_file(read: Name, written: Name) -> bool:
    """Whether two names are of one file for certain."""
    return read == written and (_tells(read) or any(isinstance(part, Hole) for part in read)) or (
        [_text(part) for part in read] == [_text(part) for part in written] and _tells(read)
    )


def numbered(read: Name, written: Name) -> bool:
    """Whether a name is of one of the files that another one numbers: `model_9.pt`, or `f"model_{args.load}.pt"`, of
    `f"model_{epoch}.pt"`."""
    (read_folder, read_file), (folder, file) = folder_and_file(read), folder_and_file(written)
    if not any(isinstance(part, Hole) for part in file) or not _tells(file):
        return False
    if read_folder != folder and all(isinstance(part, str) for part in (*read_folder, *folder)):
        return False
    flat = "".join(part if isinstance(part, str) else f"\x01{at}\x02" for at, part in enumerate(read_file))
    shape = "".join(re.escape(part) if isinstance(part, str) else "(.+?)" for part in file)
    found = re.fullmatch(shape, flat)
    if found is None:
        return False
    holes = [part for part in file if isinstance(part, Hole)]
    counts = 0
    for hole, text in zip(holes, found.groups(), strict=True):
        inner = _HOLE.fullmatch(text)
        if inner is not None and _text(read_file[int(inner[1])]) == hole.text:
            continue
        if not (inner is None and _is_figure(hole, text)) and (not _is_count(hole) or inner is None and not text.isdecimal()):
            return False
        counts += 1
    return counts > 0


def _opened(value: ast.expr) -> ast.expr | None:
    """The name of the file that is opened: what goes into what has been opened goes into that file."""
    if not isinstance(value, ast.Call) or ast.unparse(value.func) not in ("open", "io.open"):
        return None
    return value.args[0] if value.args and not isinstance(value.args[0], ast.Starred) else None


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, (int, float))


def _is_count(hole: Hole) -> bool:
    return any(_COUNTS.match(name) for name in re.findall(r"[A-Za-z_]\w*", hole.text))


def _is_figure(hole: Hole, text: str) -> bool:
    """Whether a text is what a measure or a time is written as: `0.93` of `f"{acc:.2f}"`, `1666076923` of `f"{begin_time}"`."""
    timed = re.search(r"time|date|stamp|now", hole.text, re.IGNORECASE) is not None and re.fullmatch(r"[-\d_:. ]{6,}", text) is not None
    return timed or re.fullmatch(r"\d+\.\d+", text) is not None


def folder_and_file(name: Name) -> tuple[Name, Name]:
    """A name's folder and its last part."""
    for at in range(len(name) - 1, -1, -1):
        part = name[at]
        if isinstance(part, str) and "/" in part:
            folder, _, last = part.rpartition("/")
            return (*name[:at], folder), ((last, *name[at + 1 :]) if last else name[at + 1 :])
    return (), name


def _tells(name: Name) -> bool:
    letters = "".join(part for part in name if isinstance(part, str))
    return len(re.sub(r"\.\w{1,4}$|[^A-Za-z]", "", letters)) >= _TELLING


def _text(part: str | Hole) -> str:
    return part if isinstance(part, str) else part.text


def _joined(pieces: Iterator[str | Hole]) -> Name:
    """Texts that stand together made one; a folder is parted from what is in it by one slash."""
    found: list[str | Hole] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    clean = [re.sub(r"/+", "/", piece.replace("\\", "/")) if isinstance(piece, str) else piece for piece in found]
    if clean and isinstance(clean[0], str):
        clean[0] = clean[0].removeprefix("./")
    return tuple(piece for piece in clean if piece != "")
