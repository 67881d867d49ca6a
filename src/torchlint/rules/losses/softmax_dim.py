"""312: softmax is not told which dimension its rows are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Tensor, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.fed_batches import samples_of

CODE = 312
_FUNCTIONS = frozenset(f"torch.nn.functional.{name}" for name in ("softmax", "log_softmax", "softmin"))
_LAYERS = frozenset({"torch.nn.Softmax", "torch.nn.LogSoftmax", "torch.nn.Softmin"})
CALLS = _FUNCTIONS | _LAYERS


def check(view: View) -> Iterator[Report]:
    """`F.softmax(x)` and `nn.Softmax()`, but for x with one dimension alone, and for layers that nobody calls."""
    for event in view.of("call"):
        if event.name not in CALLS or event.kwargs.keys() & {"dim", "*", "**"}:
            continue
        if len(event.args) > (1 if event.name in _FUNCTIONS else 0):
            continue
        if event.name in _FUNCTIONS:
            right = _one_dimension(event.args[0] if event.args else event.kwargs.get("input"))
        else:
            right = _unused(event.site) or _only_for_rows(view, event)
        if not right:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})
    yield from _over_samples(view)


_OVER_SAMPLES = (
    "`{call}` normalises over the samples of the batch: dimension 0 of what comes from the loader, with {classes} numbers to each sample",
    "say `dim=-1`: the classes are the last dimension",
)


def _over_samples(view: View) -> Iterator[Report]:
    """`F.softmax(self.head(x), dim=0)`, of the classes of each sample in a batch."""
    told = set()
    for event in (*view.of("call"), *view.of("forward")):
        given = _along_the_first(event)
        classes = _classes(view, given)
        if classes and event.site not in told and samples_of(given) is not None:
            told.add(event.site)
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "classes": str(classes)}, words=_OVER_SAMPLES)


def _along_the_first(event: Event) -> Value | None:
    """What a softmax over dimension 0 is given."""
    dim: Value | None = None
    if event.kind == "call" and event.name in _FUNCTIONS:
        dim = event.args[1] if len(event.args) > 1 else event.kwargs.get("dim")
    elif event.kind == "forward" and isinstance(event.subject, Instance) and event.subject.type in _LAYERS:
        dim = event.subject.arg(0, "dim")
    return event.args[0] if event.args and dim is not None and number(dim) == 0 else None


def _classes(view: View, value: Value | None) -> int:
    """How many scores a linear layer gives, if the value is what that has just given; 0 where it is one, or none is known."""
    alts = real(value)
    call = alts[0].traits.get("out_of") if len(alts) == 1 and isinstance(alts[0], Tensor) else None
    if call is None or call.site != alts[0].site or getattr(call.subject, "type", "") != "torch.nn.Linear":
        return 0
    last = view.run.noted_shape(alts[0]).at(-1)
    return last if isinstance(last, int) and last > 1 else 0


def _one_dimension(value: Value | None) -> bool:
    """Whether a tensor has one dimension for certain: there is nothing to guess."""
    shapes = [alt.traits.get("shape") if isinstance(alt, Tensor) else None for alt in real(value)]
    return bool(shapes) and all(shape is not None and shape.rank == 1 for shape in shapes)


def _only_for_rows(view: View, event: Event) -> bool:
    """Whether a layer is called for tensors of one dimension alone."""
    given = [
        call.args[0] if call.args else None
        for call in view.of("forward")
        for layer in real(call.subject)
        if isinstance(layer, Instance) and layer.site == event.site
    ]
    return bool(given) and all(_one_dimension(value) for value in given)


def _unused(site: Site) -> bool:
    """Whether a layer is put under a name or an attribute that the file never reads. What another class reads of its
    `self` is another layer, if it sets one."""
    statement = next(iter(site.parsed.around(site.node)), None)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0].target
    tree = tree_of(text_of(site.parsed))
    if isinstance(target, cst.Name):
        names = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == target.value)
        return not any(_reads(node) for node in names)
    if not isinstance(target, cst.Attribute):
        return False
    name, own = target.attr.value, _class_around(tree, site.location().row)
    others = {
        id(item)
        for cls in ast.walk(tree)
        if isinstance(cls, ast.ClassDef) and cls is not own and _sets(cls, name)  # a layer of its own
        for item in ast.walk(cls)
        if _of_self(item)
    }
    return not any(
        isinstance(node, ast.Attribute) and node.attr == name and _reads(node)
        and id(node) not in others and not _of_torch(node, site)
        or isinstance(node, ast.Constant) and node.value == name
        for node in ast.walk(tree)
    )


def _class_around(tree: ast.Module, row: int) -> ast.ClassDef | None:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return next((cls for cls in reversed(classes) if cls.lineno <= row <= cls.end_lineno), None)


def _of_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _of_torch(node: ast.Attribute, site: Site) -> bool:
    """Whether an attribute is torch's own: F.softmax."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and site.parsed.facts.imports.get(node.id, "").partition(".")[0] == "torch"


def _sets(cls: ast.ClassDef, name: str) -> bool:
    """Whether a class gives `self` an attribute of that name, which is then its own."""
    return any(_of_self(node) and node.attr == name and not _reads(node) for node in ast.walk(cls))


def _reads(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)
