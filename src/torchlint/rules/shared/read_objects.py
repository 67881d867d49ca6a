"""Whether what a `torch.load` reads is used as only an object of a class can be: `model.parameters()`, `checkpoint["net"].eval()`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.catalogue.plain_attributes import is_plain
from torchlint.dryrun.source_text import Site
from torchlint.rules.mends.rows import Place, statement_at
from torchlint.rules.shared.blocks import conditional, exclude_each_other, heads_of

_OF_MODULES = frozenset({
    "parameters", "named_parameters", "state_dict", "eval", "train", "zero_grad", "modules", "children", "named_modules", "named_children", "forward",
})
_MOVES = frozenset({"to", "cuda", "cpu", "float", "half", "double", "eval", "train"})
_MODEL = re.compile(r"(?:^|_|\.)(?:model|net|network|encoder|decoder|generator|discriminator|critic|actor|classifier|policy|agent)\d?$|net$", re.I)
_OPTIMIZER = re.compile(r"(?:^|\.)(?:Adam\w*|SGD|RMSprop|Ada(?:grad|delta|factor)|[NR]Adam)$")
_LAYERS = frozenset({"classifier", "fc", "head", "features", "backbone"})
_PLAIN = frozenset({"OrderedDict", "Counter", "Tensor", "FloatTensor", "Variable", "Parameter"})
_ASKED = re.compile(r"\b(?:isinstance|hasattr|callable|type)\(")


def used_as_object(site: Site) -> str | None:
    """The use that tells it, as it is written; None where a dict or a tensor would do."""
    at = site.location()
    return site.parsed.facts.once(("used as an object", at.row, at.column), lambda: _used(site))


def loads_in(place: Place, row: int) -> list[ast.Call]:
    """The calls in a statement that load something and begin in a row."""
    calls = (node for node in ast.walk(place.statement) if isinstance(node, ast.Call) and node.lineno == row)
    return [call for call in calls if ast.unparse(call.func).endswith("load")]


def asked_as_object(site: Site) -> str | None:
    """What is asked of it that no dict, number or tensor has, as it is written: `net.sample_weights(...)`, `data.vocabulary`."""
    at = site.location()
    return site.parsed.facts.once(("asked as an object", at.row, at.column), lambda: _asked(site))


def _asked(site: Site) -> str | None:
    """The first such question in the function that loads, where the name that it is asked of is that of the load alone, and nothing there
    asks what kind of thing it is."""
    place = statement_at(site)
    if place is None or not isinstance(place.statement, ast.Assign) or _OF_OTHERS.search("\n".join(site.parsed.facts.lines)):
        return None
    function = place.scope
    above = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    target, value = place.statement.targets[0], place.statement.value
    if value not in loads_in(place, site.location().row) or len(place.statement.targets) != 1 or not isinstance(target, ast.Name) or _tries(place.statement, above):
        return None
    if conditional(site) and any(_is_set(node, target.id) and node is not target for node in ast.walk(function)):
        return None
    if re.search(rf"\b(?:isinstance|hasattr|getattr|callable|type|vars)\(\s*{re.escape(target.id)}\b", ast.unparse(function)):
        return None
    behind = (place.statement.end_lineno or place.statement.lineno, 1 << 16)
    named = [node for node in ast.walk(function) if isinstance(node, (ast.Name, ast.arg)) and (node.lineno, node.col_offset) > behind]
    for node in sorted(named, key=lambda node: (node.lineno, node.col_offset)):
        if _is_set(node, target.id):
            return None  # in a comprehension, say, which reads it further left
        parent = above.get(node)
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load):
            if not is_plain(parent.attr) and parent.attr not in _OF_MODULES and not _tries(node, above):
                later = [one for one in named if _is_set(one, target.id) and one.lineno == node.lineno]
                return None if later else ast.unparse(parent)
    return None


# Their objects may be loaded: they are allowed by name where the package is imported.
_OF_OTHERS = re.compile(r"\btorch_geometric\b|\bdgl\b|\bmonai\b|\btensordict\b")


def _is_set(node: ast.AST, name: str) -> bool:
    """Whether a name gets something there, or is that of an argument."""
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.arg) and node.arg == name


def _used(site: Site) -> str | None:
    place = statement_at(site)
    if place is None or _asks(site, site.location().row):
        return None
    row = site.location().row
    calls = loads_in(place, row)
    if len(calls) != 1:
        return None
    function = place.scope
    above = {child: node for node in ast.walk(place.statement) for child in ast.iter_child_nodes(node)}
    node = _outermost(calls[0], above)
    if _method(node, above) is not None:
        return ast.unparse(above[node])
    name = _given(node, above)
    return (_use_of(name, site, place, function) or _instead_of(name, site, function)) if name is not None else None


def _instead_of(name: str, site: Site, function: ast.AST) -> str | None:
    """What takes the place of a model or an optimizer that is built where nothing is read."""
    lines, row = site.parsed.facts.lines, site.location().row
    taken = {name} | {
        node.targets[0].id for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.lineno > row
        and isinstance(node.value, ast.Subscript) and isinstance(node.value.value, ast.Name) and node.value.value.id == name
        and not exclude_each_other(lines, row, node.lineno)
    }
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name) or not isinstance(node.value, ast.Call):
            continue
        target, built = node.targets[0].id, ast.unparse(node.value.func)
        last = built.rpartition(".")[2]
        is_model = _MODEL.search(target) is not None and last[:1].isupper() and last not in _PLAIN
        if target not in taken or not (is_model or _OPTIMIZER.search(built)):
            continue
        if exclude_each_other(lines, row, node.lineno) or target == name and node.lineno < row and conditional(site) and not is_state(target, lines):
            return target
    return None


def is_state(name: str, lines: list[str]) -> bool:
    """Whether something else is filled with what has a name."""
    filled = re.compile(rf"load_state_dict\(\s*{re.escape(name)}\b")
    return any(filled.search(line) for line in lines)


def _use_of(name: str, site: Site, place: Place, function: ast.AST) -> str | None:
    """The first such use of a name behind a place, before the name gets something else."""
    above = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    names = {name: place.statement.end_lineno or place.statement.lineno}
    lines = site.parsed.facts.lines
    tried = _tries(place.statement, above)
    for node in sorted((node for node in ast.walk(function) if isinstance(node, ast.Name)), key=lambda node: (node.lineno, node.col_offset)):
        if node.id not in names or node.lineno <= names[node.id] or exclude_each_other(lines, site.location().row, node.lineno):
            continue
        if any(part not in tried for part in _tries(node, above)) or _handled(node, place.statement, above) or _asks(site, node.lineno):
            continue
        if not isinstance(node.ctx, ast.Load):
            if not _kept(node, above):
                del names[node.id]
            continue
        whole = _outermost(node, above)
        if _method(whole, above) is not None or _layer_of_model(whole, above, function):
            return ast.unparse(above[whole])
        alias = _given(whole, above) if isinstance(above.get(node), ast.Subscript) else None
        if alias is not None and alias != node.id:
            names[alias] = node.lineno
    return None


def _outermost(node: ast.AST, above: dict[ast.AST, ast.AST]) -> ast.AST:
    """What is taken out of a value by a key, and moved: `checkpoint["net"].float()`."""
    while True:
        parent = above.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str):
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr in _MOVES - _OF_MODULES and isinstance(above.get(parent), ast.Call):
            node = above[parent]
        else:
            return node


def _method(node: ast.AST, above: dict[ast.AST, ast.AST]) -> str | None:
    """The method of modules that is called of a value."""
    parent = above.get(node)
    called = above.get(parent) if parent is not None else None
    if isinstance(parent, ast.Attribute) and parent.attr in _OF_MODULES and isinstance(called, ast.Call) and called.func is parent:
        return parent.attr
    return None


def _layer_of_model(node: ast.AST, above: dict[ast.AST, ast.AST], function: ast.AST) -> bool:
    """Whether a value takes the place of a layer of what is filled with weights or asked for parameters: no dict can."""
    parent = above.get(node)
    target = parent.targets[0] if isinstance(parent, ast.Assign) and parent.value is node and len(parent.targets) == 1 else None
    if not isinstance(target, ast.Attribute) or target.attr not in _LAYERS or ast.unparse(target.value) == "self":
        return False
    filled = re.compile(rf"(?<![\w.]){re.escape(ast.unparse(target.value))}\.(?:load_state_dict|parameters|named_parameters)\(")
    return filled.search(ast.unparse(function)) is not None


def _given(node: ast.AST, above: dict[ast.AST, ast.AST]) -> str | None:
    parent = above.get(node)
    if isinstance(parent, ast.Assign) and parent.value is node and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    return None


def _kept(node: ast.Name, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a name gets what it was, only moved: `model = model.to(device)`."""
    parent = above.get(node)
    value = parent.value if isinstance(parent, ast.Assign) else None
    func = value.func if isinstance(value, ast.Call) else None
    return isinstance(func, ast.Attribute) and func.attr in _MOVES and isinstance(func.value, ast.Name) and func.value.id == node.id


def _tries(node: ast.AST, above: dict[ast.AST, ast.AST]) -> list[ast.AST]:
    """What goes on where a dict has no such method: not a `try` that is about missing keys alone."""
    return [one for one in _around(node, above) if isinstance(one, ast.Try) and any(map(_catches, one.handlers))]


# What a handler may name that catches no missing attribute.
_ABOUT_OTHERS = frozenset({
    "KeyError", "IndexError", "LookupError", "ValueError", "FileNotFoundError", "IOError", "OSError", "RuntimeError", "AssertionError",
    "KeyboardInterrupt", "ImportError", "ModuleNotFoundError", "StopIteration", "UnicodeDecodeError", "EOFError",
})


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether a handler may be for what has no such method: it names what else it is for, or it is for anything."""
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return not all(isinstance(one, ast.Name) and one.id in _ABOUT_OTHERS for one in named)


def _handled(node: ast.AST, load: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a place is come to where the load has failed."""
    handlers = [one for one in _around(node, above) if isinstance(one, ast.ExceptHandler)]
    return any(one not in _around(load, above) for one in handlers)


def _around(node: ast.AST, above: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in above:
        node = above[node]
        yield node


def _asks(site: Site, row: int) -> bool:
    """Whether a row asks first what something is."""
    lines = site.parsed.facts.lines
    heads = [line for line in heads_of(lines, row) if line.lstrip().startswith(("if ", "elif "))]
    return any(_ASKED.search(line) for line in (lines[row - 1], *heads))
