"""Whether what a `torch.load` reads holds an object with settings in it: `checkpoint["args"].arch` is asked of no dict."""

from __future__ import annotations

import ast
import re

from torchlint.dryrun.source_text import Site
from torchlint.rules.mends.rows import statement_at

_KEYS = re.compile(r"(?:\w+_)?(?:args|opts?|options|arguments|config|cfg|conf|configs|hparams|hyper_?param(?:eter)?s|flags|namespace|settings)", re.IGNORECASE)
_OF_OTHERS = frozenset({"shape", "device", "dtype", "data", "grad", "ndim"})  # what is asked of tensors, too
_MADE_ANEW = re.compile(r"weights_only\s*=\s*False")


def settings_asked(site: Site) -> tuple[str, str] | None:
    """The key of the settings, and the attribute that is asked of them, as written."""
    at = site.location()
    return site.parsed.facts.once(("settings asked", at.row, at.column), lambda: _asked(site))


def _asked(site: Site) -> tuple[str, str] | None:
    place = statement_at(site)
    if place is None or not isinstance(place.statement, ast.Assign) or len(place.statement.targets) != 1:
        return None
    function = place.scope
    target, value = place.statement.targets[0], place.statement.value
    if not isinstance(target, (ast.Name, ast.Attribute)) or _MADE_ANEW.search(ast.unparse(function)):
        return None
    key = _key(value)
    whole = value.value if key is not None else value  # args = torch.load(path)["args"]
    if not isinstance(whole, ast.Call) or whole.lineno != site.location().row:
        return None
    return _asked_of(ast.unparse(target), key, place.statement, function)


def _asked_of(name: str, key: str | None, load: ast.stmt, function: ast.AST) -> tuple[str, str] | None:
    """The first such question behind a load, before the name gets something else."""
    above = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    keys = {name: key}  # what has a name by now: the whole file, or what stands in it under a key
    since = {name: load.end_lineno or load.lineno}
    nodes = [node for node in ast.walk(function) if isinstance(node, (ast.Name, ast.Attribute))]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        text = ast.unparse(node)
        if text not in keys or node.lineno <= since[text]:
            continue
        if not isinstance(node.ctx, ast.Load):
            del keys[text]
            continue
        held, at = keys[text], node
        if held is None:
            at = above.get(node)
            held = _key(at) if at is not None else None
            if held is None:
                continue
        parent = above.get(at)
        if _is_doubted(at, above):
            return None
        if isinstance(parent, ast.Attribute) and not parent.attr.startswith("__") and parent.attr not in _OF_OTHERS:
            called = above.get(parent)
            if not (isinstance(called, ast.Call) and called.func is parent) and isinstance(parent.ctx, ast.Load):
                return held, ast.unparse(parent)
        if isinstance(parent, ast.Assign) and parent.value is at and len(parent.targets) == 1 and isinstance(parent.targets[0], (ast.Name, ast.Attribute)):
            target = ast.unparse(parent.targets[0])
            keys[target], since[target] = held, parent.end_lineno or parent.lineno
    return None


def _key(node: ast.AST) -> str | None:
    """The key of settings that is asked for: `checkpoint["args"]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return node.slice.value if _KEYS.fullmatch(node.slice.value) else None
    return None


def _is_doubted(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether it is asked first what something is, or the question stands in a comparison of kinds."""
    while node in above:
        node = above[node]
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "hasattr", "type", "getattr"):
            return True
        if isinstance(node, ast.stmt):
            return isinstance(node, ast.If) and "isinstance(" in ast.unparse(node.test)
    return False
