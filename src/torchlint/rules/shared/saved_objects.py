"""Whether a program puts into its checkpoints what only a full unpickler takes out: objects that are no weights."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.rules.base import View
from torchlint.rules.mends.rows import call_at, statement_at, text_of, tree_of


def wants_objects(view: View, site: Site) -> bool:
    """Whether what a `torch.load` reads holds other objects than weights, numbers and texts, as far as the program tells:
    by what it does with the result, or by what a `torch.save` of the file, or of a file beside it, writes."""
    place, call = statement_at(site), call_at(site)
    if place is None or call is None:
        return False
    function = next((node for node in reversed(place.parents) if isinstance(node, ast.FunctionDef)), place.parents[0])
    if _used_as_object(place.statement, function):
        return True
    return any(
        _may_be_one_file(call, save) and _holds_objects(save.args[0], scope)
        for text in _texts(view, site) for save, scope in _saves(text)
    )


def _texts(view: View, site: Site) -> Iterator[str]:
    """The file, those that import it, and those that it imports."""
    facts = site.parsed.facts
    yield text_of(site.parsed)
    project = view.run.world.project_of(facts.path)
    if project is None:
        return
    own = project.files.get(facts.path)
    near = {user.path for user in project.users(facts.path)} | set(own.imports if own is not None else ())
    for path in sorted(near):
        if path in project.files:
            yield project.files[path].code


def _saves(text: str) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The calls of `torch.save` in a text, each with the function that it stands in."""
    if "torch.save" not in text:
        return
    try:
        tree = tree_of(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    functions = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]
    inner: dict[ast.Call, ast.AST] = {}
    for function in functions:  # outer ones first
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.save" and node.args:
                inner[node] = function
    yield from inner.items()


def _may_be_one_file(load: ast.Call, save: ast.Call) -> bool:
    """Whether two calls may be of one file: not where both name it, and the names differ."""
    names = [call.args[at] if len(call.args) > at else None for call, at in ((load, 0), (save, 1))]
    texts = [name.value for name in names if isinstance(name, ast.Constant)]
    return len(texts) < 2 or texts[0] == texts[1]


def _used_as_object(statement: ast.stmt, function: ast.AST) -> bool:
    """Whether a function calls what it has loaded, or asks it for what no dict of weights has."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = "|".join(re.escape(target.id) for target in targets if isinstance(target, ast.Name))
    if not names:
        return False
    wanted = re.compile(
        rf"(?<![\w.])(?:{names})(?:\(|\.(?:eval|train|to|cuda|parameters|named_parameters|state_dict|module|half|float)\b"
        rf"|(?:\[|\.get\()['\"](?:{_CONFIGS})['\"])"
    )
    return wanted.search(ast.unparse(function)) is not None


_CONFIGS = r"args|opts?|options|config|cfg|conf|hparams|hyper_parameters|hyperparams|namespace|flags"
_PARTS = r"model|net|network|optimizer|optim|scheduler|lr_scheduler|scaler|tokenizer|vocab"
_OBJECTS = re.compile(rf"^(?:self\.)?(?:{_CONFIGS}|{_PARTS}|self|module)$")


def _holds_objects(value: ast.expr, scope: ast.AST, depth: int = 0) -> bool:
    """Whether an expression that is saved is, or holds, an object of another type than a state dict's."""
    if depth > 4:
        return False
    if isinstance(value, ast.Dict):
        return any(item is not None and _holds_objects(item, scope, depth + 1) for item in value.values)
    if isinstance(value, (ast.Tuple, ast.List)):
        return any(_holds_objects(item, scope, depth + 1) for item in value.elts)
    if isinstance(value, ast.Set):
        return True
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        if name in ("dict", "OrderedDict", "collections.OrderedDict"):
            given = [*value.args, *(keyword.value for keyword in value.keywords)]
            return any(_holds_objects(item, scope, depth + 1) for item in given if not isinstance(item, ast.GeneratorExp))
        made = re.match(r"(?:\w+\.)*[A-Z]\w*$", name) is not None
        if made or re.match(r"(?:np|numpy|pathlib|argparse)\.", name) or name.endswith("parse_args"):
            return True
        return name.endswith("deepcopy") and any(_holds_objects(item, scope, depth + 1) for item in value.args)
    if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Subscript)):
        return any(_holds_objects(item, scope, depth + 1) for item in ast.iter_child_nodes(value) if isinstance(item, (ast.Call, ast.Name)))
    if not isinstance(value, (ast.Name, ast.Attribute)):
        return False
    given = list(_assigned(value, scope))
    if given:
        return any(_holds_objects(item, scope, depth + 1) for item in given)
    return bool(_OBJECTS.match(ast.unparse(value)))


def _assigned(name: ast.expr, scope: ast.AST) -> Iterator[ast.expr]:
    """What a function assigns to a name, or to its items."""
    text = ast.unparse(name)
    for node in ast.walk(scope):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []:
            whole = target.value if isinstance(target, ast.Subscript) else target
            if node.value is not None and ast.unparse(whole) == text:
                yield node.value
