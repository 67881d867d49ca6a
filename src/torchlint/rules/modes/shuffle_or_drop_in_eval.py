"""208: a loader for evaluation leaves samples out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import ONE_OF_DICTS, Class, Dict, Event, Instance, Iter, Opaque, Ref, Value, boolean, number, real, same
from torchlint.rules.base import Report, View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.loaders import body_of, goes_over, one_by_default, option

CODE = 208
_EVALUATION = re.compile(
    r"(?:^|_)(?:val|vali|valid|validation|test|testing|eval|evaluation|dev)(?:_|\d|$|(?:data|loader|set|dl|iter|gen))",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"train|fit|unlabel|target_|source_|support|contrast|pretext", re.IGNORECASE)

_NOT_TRAINING = re.compile(r"\b(?:is_?)?train(?:ing)?\s*=\s*False\b", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`val_loader = DataLoader(val_set, ..., drop_last=True)`."""
    for event in view.of("loader.create"):
        made = event.subject
        if not isinstance(made, Instance) or not (_drops_by(made) or _drops(view, made)) or _of_one(event, made):
            continue
        name, loop = _called(view, made)
        given = _NOT_TRAINING.sub("", event.site.parsed.text(event.site.node.args[0].value)) if event.site.node.args else ""
        if not name or _TRAINING.search(name) or _TRAINING.search(given) or _trained_on(view, made):
            continue
        if _left_alone(view, event) or _only_looked_at(view, event):
            continue
        if _wants_full_batches(view, event) or _draws(view, made) or _of_fixed_shapes(event.site):
            continue
        batches = _drops_by(made)
        shuffled = boolean(made.arg(2, "shuffle")) is True or batches is not None and _mixes(batches)
        roles = {"name": name, "which": "other samples each time" if shuffled else "the last samples"}
        related = [(loop, f"`{name}` is that loader here")] if loop is not None else []
        if batches is not None and batches.site is not None:
            related.append((batches.site, "this makes its batches"))
        yield Report(CODE, event.site, roles, related)


def _drops_by(loader: Instance) -> Instance | None:
    """torch's sampler that makes a loader's batches, and drops the last one."""
    samplers = real(option(loader, "batch_sampler"))
    batches = samplers[0] if len(samplers) == 1 else None
    known = isinstance(batches, Instance) and isinstance(batches.cls, Ref) and batches.type.endswith(".BatchSampler")
    return batches if known and boolean(batches.arg(2, "drop_last")) is True else None


def _mixes(batches: Instance) -> bool:
    return any(isinstance(alt, Instance) and alt.type.endswith("RandomSampler") for alt in real(batches.arg(0, "sampler")))


def _drops(view: View, loader: Instance) -> bool:
    """Whether a loader drops the last batch; on some of the ways, where that is for what the keywords are chosen by, such as a GPU."""
    given = loader.arg(8, "drop_last")
    either = given.origin if type(given) is Opaque and given.source == ONE_OF_DICTS else None
    if either is None and (given is not None or "**" not in loader.kwargs):
        return boolean(given) is True
    for alt in real(either or loader.kwargs["**"]):
        items = view.run.store.get(alt, "{}") if isinstance(alt, Dict) and alt.site is not None else None
        if items is not None and boolean(items.known.get("drop_last")) is True:
            around = [node.test for node in alt.site.parsed.around(alt.site.node) if isinstance(node, (cst.If, cst.IfExp))]
            return not any(_OF_A_PART.search(alt.site.parsed.text(test)) for test in around)
    return False


_OF_A_PART = re.compile(r"train|test|val|mode|phase|split|stage", re.IGNORECASE)


def _called(view: View, loader: Instance) -> tuple[str, Site | None]:
    """The name by which a loader is one for evaluation: its own; or, where a function makes the loaders for all purposes, its
    name in a loop over it, and where that loop stands."""
    own = _key(loader) or (loader.name or "").rsplit(".", 1)[-1]
    if _EVALUATION.search(own):
        return own, None
    for site in _loops_over(view, loader):
        if site is not None and isinstance(site.node, cst.For):
            for node in walk(site.node.iter):
                if isinstance(node, cst.Name) and _EVALUATION.search(node.value):
                    return node.value, Site(site.parsed, site.node.iter)
    return "", None


def _key(loader: Instance) -> str:
    """The key under which a dict keeps a loader that is made in it: `{"train": DataLoader(...), "val": DataLoader(...)}`; of one that a
    comprehension makes for several, the one for evaluation."""
    site = loader.site
    parent = next(iter(site.parsed.around(site.node)), None) if site is not None else None
    if isinstance(parent, cst.DictElement) and parent.value is site.node:
        return _string(parent.key)
    if isinstance(parent, cst.DictComp) and parent.value is site.node and isinstance(parent.key, cst.Name):
        part = parent.for_in
        listed = part.iter.elements if isinstance(part.iter, cst.List | cst.Tuple) else ()
        if isinstance(part.target, cst.Name) and part.target.value == parent.key.value and not part.ifs:
            return next((key for key in map(_string, (one.value for one in listed)) if _EVALUATION.search(key)), "")
    return ""


def _string(node: cst.BaseExpression) -> str:
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else None
    return value if isinstance(value, str) else ""


def _of_one(event: Event, loader: Instance) -> bool:
    """Whether batches are single samples: every batch is full then."""
    size = (_drops_by(loader) or loader).arg(1, "batch_size")
    if size is None:
        return "**" not in loader.kwargs
    return all(number(alt) == 1 or one_by_default(event.site, alt) for alt in real(size))


def _left_alone(view: View, event: Event) -> bool:
    """Whether nobody goes over a loader: its name is read nowhere, or for its length."""
    site, loader = event.site, event.subject
    statement = next(iter(site.parsed.around(site.node)), None)
    target = statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    if not isinstance(target, cst.Name):
        return False  # an attribute may be read in any file
    if _loops_over(view, loader):
        return False
    if any(loader in real(each.subject) for each in view.of("loader.iterate", "loader.first")):
        return False
    scope = _scope(tree_of(text_of(site.parsed)), site.location().row)
    lengths = {
        id(node.args[0])
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len" and node.args
    }
    names = (node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == target.value)
    return not any(isinstance(node.ctx, ast.Load) and id(node) not in lengths for node in names)


def _loops_over(view: View, loader: Instance) -> list[Site | None]:
    """Where the loops stand that go over a loader."""
    return [each.loop.site for each in view.of("loop") if goes_over(each.loop.over, loader)]


def _scope(tree: ast.Module, row: int) -> ast.AST:
    """The function that a row stands in, or the file."""
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return next((node for node in functions if node.lineno <= row <= node.end_lineno), tree)


# What a model may be made with, and the packages that bring none.
_MODELS = frozenset({"nn", "models", "load", "hub", "jit", "no_grad", "eval", "Module"})
_WITHOUT = frozenset(
    """torch torchvision torchaudio tensorboardX tensorboard numpy matplotlib PIL cv2 tqdm os sys time math
    random""".split()
)


def _only_looked_at(view: View, event: Event) -> bool:
    """Whether the file that goes over a loader has no model: a look at the data, as in a lesson, evaluates nothing."""
    facts = event.site.parsed.facts
    loops = _loops_over(view, event.subject)
    if not loops or any(site is None or site.parsed.facts is not facts for site in loops) or facts.words & _MODELS:
        return False
    if not facts.stars and all(name.partition(".")[0] in _WITHOUT for name in facts.imports.values()):
        return True
    # Whatever else is imported: a model is one only where a batch is given to it.
    return not any(
        each.loops and each.loops[-1].site in loops and (each.get("args") or each.get("kwargs"))
        for each in view.of("forward", "unknown", "called")
    )


_SIZED = re.compile(
    r"(?:^|\.)(?:view|reshape|a?range|(?:new_)?zeros|ones|empty|full|randn?|expand|repeat"
    r"|make_grid|init_?(?:hidden|state))$",
    re.IGNORECASE,
)


# A batch that is so many sequences of a text, one behind the other: `batch_size * (seq_len + 1)`.
_OF_SEQUENCES = re.compile(r"\*.*(?:seq|len|bptt|steps)|(?:seq|len|bptt|steps).*\*", re.IGNORECASE)


def _wants_full_batches(view: View, event: Event) -> bool:
    """Whether a loop over the loader, or a model, takes each batch to be as long as the loader was told: it would raise
    on a shorter one."""
    if any(_is_told_size(model, event.subject) for call in view.of("forward") for model in real(call.subject)):
        return True
    site = getattr(_drops_by(event.subject), "site", None) or event.site
    parsed, args = site.parsed, getattr(site.node, "args", ())
    given = [arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "batch_size"]
    given = given or [arg.value for arg in args[1:2] if arg.keyword is None]
    if given and _OF_SEQUENCES.search(parsed.text(given[0])):
        return True
    if given and _is_told_beside(view, parsed, parsed.text(given[0])):
        return True
    if given and isinstance(given[0], cst.Name) and _model_uses_size(view, event, given[0].value):
        return True
    size = parsed.text(given[0]).rpartition(".")[2] if given else ""
    if not size or size.isdigit() and int(size) < 8:  # a small number may be anything
        return False
    loops = [site for site in _loops_over(view, event.subject) if site is not None]
    return any(_uses_size(site, size) or _helpers_use_size(site, size) for site in loops)


def _is_told_beside(view: View, parsed: Parsed, size: str) -> bool:
    """Whether the function that makes the loader builds a module of the project for batches of that size, wherever that is kept."""
    for node in walk(parsed.module):
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Name):
            continue
        of_size = any(parsed.text(arg.value) == size for arg in node.args)
        cls = view.run.exported(node.func.value, parsed.facts) if of_size else None
        init = cls.method("__init__") if isinstance(cls, Class) and "torch.nn.Module" in cls.externals() else None
        if init is None:
            continue
        placed = zip(init[1].params[1:], (arg for arg in node.args if arg.keyword is None), strict=False)
        told = [*placed, *((arg.keyword.value, arg) for arg in node.args if arg.keyword is not None)]
        if any("batch" in name and parsed.text(arg.value) == size for name, arg in told):
            return True
    return False


def _is_told_size(model: Value, loader: Instance) -> bool:
    """Whether a model of the project is built for batches of the loader's size."""
    size = (_drops_by(loader) or loader).arg(1, "batch_size")
    if size is None or not isinstance(model, Instance) or not isinstance(model.cls, Class):
        return False
    init = model.cls.method("__init__")
    names = init[1].params[1:] if init is not None else ()
    given = [*zip(names, model.args), *model.kwargs.items()]
    return any("batch" in name and same(value, size) for name, value in given)


def _model_uses_size(view: View, event: Event, size: str) -> bool:
    """Whether a model that is given the batches goes by the file's own name for their size: `x.view(BATCH_SIZE, -1)` in its forward."""
    facts, loops = event.site.parsed.facts, _loops_over(view, event.subject)
    given = (call for call in view.of("forward") if any(loop.site in loops for loop in call.loops))
    models = (model.cls for call in given for model in real(call.subject) if isinstance(model, Instance))
    for cls in dict.fromkeys(cls for cls in models if isinstance(cls, Class) and cls.facts is facts):
        for name, unit in cls.cf.methods.items():
            if size not in unit.words or size in unit.binds or size in unit.params:
                continue  # nowhere in it, or a name of its own
            definition, parsed = body_of(view, cls, name)
            if definition is not None and _uses_size(Site(parsed, definition.body), size):
                return True
    return False


# Kernels in 8 bits, graphs of the device and ahead-of-time compilers run on batches of one size.
_FIXED_SHAPES = re.compile(r"fp8|float8|cuda_?graph|make_graphed|torch_xla|xla_model|neuron|(?:static|fixed)_(?:shape|batch)|mark_step", re.IGNORECASE)


def _of_fixed_shapes(site: Site) -> bool:
    """Whether a program works with something that takes batches of one size only."""
    return any(_FIXED_SHAPES.search(line) for line in site.parsed.facts.lines)


def _uses_size(site: Site, size: str) -> bool:
    for node in walk(site.node):
        if not isinstance(node, cst.Call) or not _SIZED.search(site.parsed.text(node.func)):
            continue
        inside = (part for arg in node.args for part in walk(arg.value))
        kinds = (cst.Name, cst.Attribute, cst.Integer)
        if any(isinstance(part, kinds) and site.parsed.text(part).rpartition(".")[2] == size for part in inside):
            return True
    return False


def _helpers_use_size(loop: Site, size: str) -> bool:
    """Whether a function of the file that a loop calls takes each batch to be as long."""
    called = {node.func.value for node in walk(loop.node) if isinstance(node, cst.Call) and isinstance(node.func, cst.Name)}
    helpers = [node for node in tree_of(text_of(loop.parsed)).body if isinstance(node, ast.FunctionDef) and node.name in called]
    calls = (node for helper in helpers for node in ast.walk(helper) if isinstance(node, ast.Call) and _SIZED.search(ast.unparse(node.func)))
    return any(size in (getattr(part, "id", None), getattr(part, "attr", None)) for call in calls for arg in call.args for part in ast.walk(arg))


def _draws(view: View, loader: Instance) -> bool:
    """Whether the dataset does not look at the index that it is asked for, and draws what it gives: no sample has a
    place that could be left out."""
    for dataset in real(option(loader, "dataset")):
        if not isinstance(dataset, Instance) or not isinstance(dataset.cls, Class):
            continue
        definition, _ = body_of(view, dataset.cls, "__getitem__")
        params = definition.params.params if definition is not None else ()
        if len(params) == 2:
            read = {node.value for node in walk(definition.body) if isinstance(node, cst.Name)}
            if params[1].name.value not in read and any("rand" in name or name == "choice" for name in read):
                return True
    return False


def _trained_on(view: View, loader: Instance) -> bool:
    """Whether a backward runs in a loop over the loader; not in one over whichever of several is asked for, that for training among them,
    where only some phase goes backward."""
    over = {event.get("loop"): event for event in view.of("loop") if goes_over(event.loop.over, loader)}
    return any(
        loop in over and not (_has_one_for_training(loop.over) and set(backward.guards) - set(over[loop].guards))
        for backward in view.of("backward") for loop in backward.loops
    )


def _has_one_for_training(value: Value | None) -> bool:
    alts = real(value)
    if len(alts) > 1:
        return any(isinstance(alt, Instance) and "train" in (_key(alt) or alt.name or "").lower() for alt in alts)
    return isinstance(value, Iter) and _has_one_for_training(value.base)
