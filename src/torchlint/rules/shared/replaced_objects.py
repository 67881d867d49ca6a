"""Whether what a `torch.load` reads takes the place of an object of a class: `memory = torch.load(path)`, where there is none `memory =
Memory(size)`."""

from __future__ import annotations

import ast
import re

from torchlint.dryrun.source_text import Site
from torchlint.rules.mends.rows import Place, statement_at
from torchlint.rules.shared.blocks import conditional, exclude_each_other
from torchlint.rules.shared.read_objects import is_state

# What is no class for pickle to name, or one that torch lists; and a path, which is what is read from.
_PLAIN = re.compile(
    r"(?:Ordered)?Dict|Counter|\w*Tensor|Variable|Parameter(?:List|Dict)?|\w*Path|List|Size|Data|HeteroData|Batch|PackedSequence|[A-Z0-9_]+"
)
_MOVES = frozenset({"to", "cuda", "cpu", "float", "half", "double", "eval", "train"})


def replaced_class(site: Site) -> str | None:
    """The class of what a name, or an attribute of an object, has where nothing is read."""
    place = statement_at(site)
    assign = place.statement if place is not None else None
    if not isinstance(assign, ast.Assign) or len(assign.targets) != 1 or not isinstance(assign.value, ast.Call):
        return None
    target = assign.targets[0]
    if not isinstance(target, (ast.Name, ast.Attribute)) or not ast.unparse(assign.value.func).endswith("load") or _tried(place):
        return None
    name = ast.unparse(target)
    if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", ast.unparse(assign.value)) or is_state(name, site.parsed.facts.lines):
        return None  # a name of a file, until the file is read; or another one's weights
    local = isinstance(target, ast.Name)
    kind = (ast.FunctionDef, ast.AsyncFunctionDef) if local else ast.ClassDef
    around = next((node for node in reversed(place.parents) if isinstance(node, kind)), place.parents[0] if local else None)
    made: dict[str, list[ast.Assign]] = {}
    for node in ast.walk(around) if around is not None else ():
        if isinstance(node, ast.Assign) and node is not assign and any(ast.unparse(one) == name for one in node.targets):
            of = _class(node.value)
            if of is None and not _is_none(node.value) and not _keeps(node.value, name):
                return None  # something else, too
            if of is not None:
                made.setdefault(of, []).append(node)
    if len(made) != 1:
        return None
    found, nodes = next(iter(made.items()))
    return found if any(_instead(site, place, node, local) for node in nodes) else None


def _instead(site: Site, place: Place, made: ast.Assign, local: bool) -> bool:
    """Whether an object is made where the load is not come to, or for the time until it is."""
    lines, row = site.parsed.facts.lines, site.location().row
    if exclude_each_other(lines, row, made.lineno) or made.lineno < row and conditional(site):
        return True
    if local:
        return False
    function = next((node for node in reversed(place.parents) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    return function is not None and not function.lineno <= made.lineno <= (function.end_lineno or function.lineno)


def _class(value: ast.expr) -> str | None:
    """The name of the class that an expression makes an object of; of torch's own, only modules."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    if not isinstance(value, ast.Call) or not isinstance(value.func, (ast.Name, ast.Attribute)):
        return None
    owner, _, last = ast.unparse(value.func).rpartition(".")
    if not last[:1].isupper() or _PLAIN.fullmatch(last) or re.match(r"torch(?!\.nn\b)", owner) or owner in ("np", "numpy"):
        return None
    return last


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _keeps(value: ast.expr, name: str) -> bool:
    """Whether a name gets what it was, moved: `model = model.to(device)`."""
    func = value.func if isinstance(value, ast.Call) else None
    return isinstance(func, ast.Attribute) and ast.unparse(func.value) == name and func.attr in _MOVES


def _tried(place: Place) -> bool:
    """Whether a `try` stands around a place: then it is ready for what cannot be read."""
    return any(isinstance(node, ast.Try) for node in place.parents)
