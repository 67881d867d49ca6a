"""Whether what a `torch.load` reads goes into models and optimizers, and nothing is asked of it but states and numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.rules.mends.rows import statement_at
from torchlint.rules.shared.read_objects import loads_in

# Keys of states, and of numbers beside them.
_KEYS = re.compile(
    r"state|model|net|weight|param|optim|sched|scaler|\bamp|ema|encoder|decoder|module|head|generator|discriminator|critic|actor|policy"
    r"|epoch|step|iter|best|acc|loss|score|scale|count|metric|psnr|miou|\bmap\b|\blr\b",
    re.IGNORECASE,
)
_OF_DICTS = frozenset({"get", "items", "keys", "pop", "setdefault", "update", "values"})
_SHOWS = frozenset({"list", "print", "set", "sorted", "len", "isinstance", "type", "logging.info", "logger.info"})


def feeds_states(site: Site) -> bool:
    """Whether a call of `torch.load` fills a `load_state_dict`, and all that its function does with the result is seen to be
    about states and numbers. Not where a comment at the call speaks of `weights_only`: that was thought about."""
    place = statement_at(site)
    if place is None or _explained(site):
        return False
    function = place.scope
    above = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    loads = loads_in(place, site.location().row)
    if len(loads) != 1:
        return False
    return _feeds(loads[0], above) and (_ends_in_state(loads[0], above) or _name_is_loaded(loads[0], above, function))


def _name_is_loaded(load: ast.Call, above: dict[ast.AST, ast.AST], function: ast.AST) -> bool:
    """Whether the name that a load is assigned to is used for states alone, and some of it is loaded."""
    name = _assigned(load, above)
    if name is None:
        return False
    uses = [node for node in ast.walk(function)
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and node.lineno >= load.lineno]
    if not all(_feeds(use, above) for use in uses):
        return False
    names, grown = {name}, True
    while grown:  # what is made of it
        more = {target for value, target in _bindings(function) if target not in names and _mentions(value, names)}
        names, grown = names | more, bool(more)
    return any(_is_loading(node) and any(_mentions(part, names) for part in ast.iter_child_nodes(node)) for node in ast.walk(function))


def _explained(site: Site) -> bool:
    lines, at = site.parsed.facts.lines, site.location()
    return any("#" in line and "weights_only" in line.partition("#")[2] for line in lines[max(at.row - 4, 0) : at.end_row or at.row])


def _assigned(load: ast.Call, above: dict[ast.AST, ast.AST]) -> str | None:
    """The name that a load, or an item of it, is assigned to."""
    node: ast.AST = load
    while isinstance(above.get(node), (ast.Subscript, ast.Attribute, ast.Call)):
        node = above[node]
    parent = above.get(node)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    return None


def _feeds(use: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether one use of what was loaded is about states and numbers."""
    parent = above.get(use)
    if isinstance(parent, ast.IfExp):  # `state = state["model"] if "model" in state else state`
        return isinstance(above.get(parent), ast.Assign)
    if isinstance(parent, ast.Assign) and isinstance(use, ast.Call):
        return True
    if isinstance(parent, ast.Compare):
        return True
    if isinstance(parent, ast.Subscript) and parent.value is use:
        key = parent.slice
        return not isinstance(key, ast.Constant) or not isinstance(key.value, str) or bool(_KEYS.search(key.value))
    if isinstance(parent, ast.Attribute) and parent.attr in _OF_DICTS:
        call = above.get(parent)
        key = call.args[0] if isinstance(call, ast.Call) and call.args else None
        return not isinstance(key, ast.Constant) or not isinstance(key.value, str) or bool(_KEYS.search(key.value))
    if isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is use:
        return True
    return _ends_in_state(use, above) or isinstance(parent, ast.Call) and ast.unparse(parent.func) in _SHOWS


def _ends_in_state(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether an expression stands in the arguments of a `load_state_dict`."""
    while isinstance(above.get(node), (ast.expr, ast.keyword, ast.comprehension)):
        node = above[node]
        if _is_loading(node):
            return True
    return False


def _is_loading(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load_state_dict"


def _bindings(function: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """What a function assigns, and the names that take it; items of what is there already, too."""
    for node in ast.walk(function):
        pairs = []
        if isinstance(node, ast.Assign):
            pairs = [(node.value, target) for target in node.targets]
        elif isinstance(node, (ast.For, ast.comprehension)):
            pairs = [(node.iter, node.target)]
        for value, target in pairs:
            yield from ((value, part.id) for part in ast.walk(target) if isinstance(part, ast.Name))


def _mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))
