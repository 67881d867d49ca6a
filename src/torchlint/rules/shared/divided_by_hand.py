"""Data that a program deals out among its processes itself: `Subset(data, range(rank * n, (rank + 1) * n))`, `rows[rank::world_size]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Value, real
from torchlint.rules.mends.rows import statement_at, tree_of

# What the number of a process, or how many there are, is called.
_PROCESS = re.compile(r"rank|world|process_i|proc_id|(?:^|_)n?gpus?(?:_|$)", re.IGNORECASE)
_DEVICE = re.compile(r"device|cuda", re.IGNORECASE)
_TO_A_DEVICE = frozenset({"to", "cuda", "device", "set_device"})
_ADDS = frozenset({"append", "extend", "add", "update"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SUBSET = "torch.utils.data.Subset"
_MOST = 8
_MOST_NODES = 1000


def divided_by_hand(made: Event) -> bool:
    """Whether which process this is goes into the data of a loader, as far back as the functions go that make the loader and its data
    sets. On which device they lie divides nothing."""
    return any(_Names(site).know_the_process() for site in (made.site, *_made_at(made.dataset)) if site is not None)


def _made_at(data: Value | None, depth: int = 0) -> Iterator[Site | None]:
    """Where a data set is made, whichever of several it is, and what it is a part of."""
    for alt in real(data) if depth < _MOST else ():
        if isinstance(alt, Instance):
            yield alt.site
            if alt.type == _SUBSET:
                yield from _made_at(alt.arg(0, "dataset"), depth + 1)


class _Names:
    """The names of a function that something in a call is computed from, by what is written there."""

    def __init__(self, site: Site):
        self.place = statement_at(site)
        self.tree = tree_of("".join(site.parsed.facts.lines))
        self.call = self._call(site) if self.place is not None else None

    def _call(self, site: Site) -> ast.Call | None:
        row, text = site.location().row, site.text()
        calls = (node for node in ast.walk(self.place.statement) if isinstance(node, ast.Call) and node.lineno == row)
        return next((call for call in calls if text.startswith(ast.unparse(call.func))), None)

    def know_the_process(self) -> bool:
        if self.call is None:
            return False
        given = [word.value for word in self.call.keywords if word.arg == "dataset"]
        loader = ast.unparse(self.call.func).endswith("DataLoader")  # how large its batches are may hang on the processes
        todo: list[ast.AST] = [*self.call.args[:1], *given] if loader else [self.call]
        seen = set()
        sets = {name for node in todo if loader and isinstance(node, ast.Name) for name in (node.id, *self._also_called(node.id))}
        for _ in range(_MOST_NODES):
            if not todo:
                return False
            for node in _data_in(todo.pop()):
                name = _text(node)
                if _PROCESS.search(name.rpartition(".")[2]):
                    return True
                if name and name not in seen and not _DEVICE.search(name):
                    seen.add(name)
                    todo += self._given_to(name, name in sets)
        return False

    def _also_called(self, name: str) -> list[str]:
        """Under which other names a data set is known before: `data = whole`."""
        return [node.id for node in self._given_to(name, False) if isinstance(node, ast.Name)]

    def _given_to(self, name: str, parts: bool) -> Iterator[ast.AST]:
        """What a name (with `parts`, anything of what it stands for) is given where this function gives it anything, the loops that add to
        it, and what a function of this name does."""
        for node in _own_nodes(self.place.scope):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(name in (_text(target), _base(target) if parts else "") for part in targets for target in _items(part)):
                    yield node.value
            elif isinstance(node, ast.For) and _adds_to(node, name):
                yield node
        for node in self.tree.body:
            if isinstance(node, _FUNCTIONS) and node.name == name:
                yield node


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function, or in a file outside functions."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)


def _data_in(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in an expression, without what only says on which device something is."""
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        if called in _TO_A_DEVICE:
            yield from _data_in(node.func)
            return
    if isinstance(node, ast.keyword) and node.arg is not None and _DEVICE.search(node.arg):
        return
    if isinstance(node, ast.JoinedStr) and any(isinstance(part, ast.Constant) and "cuda" in str(part.value) for part in node.values):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _data_in(child)


def _text(node: ast.AST) -> str:
    """A name, or names with dots between: `options.path`; nothing for anything else."""
    if isinstance(node, ast.Attribute):
        owner = _text(node.value)
        return f"{owner}.{node.attr}" if owner else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _items(target: ast.expr) -> list[ast.expr]:
    return [item for part in target.elts for item in _items(part)] if isinstance(target, (ast.Tuple, ast.List)) else [target]


def _base(target: ast.expr) -> str:
    """The name that something is given to, or to a part of what it stands for: `data` of `data.targets[0] = 1`."""
    while isinstance(target, (ast.Attribute, ast.Subscript, ast.Starred)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _adds_to(loop: ast.For, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDS and _base(node.func.value) == name
        for node in ast.walk(loop)
    )
