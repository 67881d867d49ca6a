"""514: a path through forward ends without a return."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import children, walk
from torchlint.rules.base import Report, View

CODE = 514


def check(view: View) -> Iterator[Report]:
    """A forward whose last statement computes something that nothing can read any more."""
    root = view.run.root
    cls = root.home if root is not None and root.name == "forward" else None
    if cls is None or root.unit is None or "!falls" not in root.unit.words or view.run.kind_of_class(cls) != "module":
        return
    definition, parsed = view.run.definition(root)
    if definition is None or not isinstance(definition.body, cst.IndentedBlock) or _gives_otherwise(definition):
        return
    returns = [node for node in _statements(definition.body) if isinstance(node, cst.Return) and node.value is not None]
    for last in _ends(definition.body):
        value = _lost(last, bool(returns), cls)
        if value:
            related = [(Site(parsed, returns[0]), "another path returns its result here")] if returns else []
            yield Report(CODE, Site(parsed, last), {"model": cls.name, "value": parsed.text(value)[:40]}, related)
            return


def _statements(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """All small and compound statements, those of inner functions left out."""
    for child in children(body):
        if isinstance(child, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            continue
        yield child
        yield from _statements(child)


def _gives_otherwise(definition: cst.FunctionDef) -> bool:
    """Whether the function yields, or binds names that live on outside of it."""
    if any(isinstance(node, (cst.Global, cst.Nonlocal, cst.Yield)) for node in _statements(definition.body)):
        return True
    return any(isinstance(node, (cst.FunctionDef, cst.Lambda)) for node in walk(definition.body))


def _ends(body: cst.BaseSuite) -> Iterator[cst.CSTNode]:
    """The last statements of the paths that run off the end of a body."""
    if not body.body:
        return
    last = body.body[-1]
    if isinstance(last, cst.If):
        branch: cst.If | cst.Else | None = last
        while branch is not None:
            yield from _ends(branch.body)
            branch = branch.orelse if isinstance(branch, cst.If) else None
    elif isinstance(last, cst.With):
        yield from _ends(last.body)
    elif isinstance(last, cst.SimpleStatementLine):
        yield last.body[-1]


def _lost(last: cst.CSTNode, returns: bool, cls) -> cst.BaseExpression | None:
    """What a last statement computes for nobody."""
    if isinstance(last, cst.Assign) and len(last.targets) == 1 and isinstance(last.targets[0].target, cst.Name):
        name = last.targets[0].target
        return (
            name
            if name.value.strip("_") and isinstance(last.value, (cst.Call, cst.BinaryOperation, cst.Name))
            else None
        )
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call) and not returns:
        func = last.value.func
        of_self = isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == "self"
        init = cls.cf.methods.get("__init__")
        if (
            of_self
            and init is not None
            and func.attr.value in init.sets
            and init.gives.get(func.attr.value, frozenset()) & _LAYERS
        ):
            return last.value
    return None


_LAYERS = frozenset(
    {
        "Linear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "Sequential",
        "LSTM",
        "GRU",
        "Embedding",
        "Sigmoid",
        "Softmax",
        "LogSoftmax",
    }
)
