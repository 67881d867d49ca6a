"""137: backward of an autograd function gives another number of gradients than forward takes inputs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import children
from torchlint.dryrun.values import Class
from torchlint.rules.base import Report, View
from torchlint.rules.shared.autograd_functions import is_autograd_function

CODE = 137


def check(view: View) -> Iterator[Report]:
    """Each `return` of `backward` in a class derived from `torch.autograd.Function`."""
    root = view.run.root
    if root is None or root.name != "backward" or not isinstance(root.home, Class):
        return
    cls = root.home
    if not is_autograd_function(cls) or "?" in cls.externals():
        return
    forward, backward = (_definition(view, cls, name) for name in ("forward", "backward"))
    if forward is None or backward is None:
        return
    inputs = _inputs(forward[1], "setup_context" in cls.cf.methods)
    if inputs is None:
        return
    least, most = inputs
    for node in _returns(backward[1].body):
        given = _given(node, backward[1])
        if given is None:
            continue
        count, needed = given
        if count < least or needed > most:
            roles = {
                "name": cls.name,
                "inputs": _plural(least if count < least else most, "input"),
                "gradients": _plural(count, "gradient"),
            }
            yield Report(
                CODE, Site(backward[0], node), roles, [(Site(forward[0], forward[1].name), "the inputs of forward")]
            )


def _definition(view: View, cls: Class, name: str) -> tuple[Parsed, cst.FunctionDef] | None:
    """A static method that the class itself defines."""
    unit = cls.cf.methods.get(name)
    if unit is None or "staticmethod" not in unit.decorators:
        return None
    parsed = view.run.world.parse(cls.facts, unit)
    found = [node for node in parsed.body if isinstance(node, cst.FunctionDef)] if parsed is not None else []
    return (parsed, found[0]) if len(found) == 1 else None


def _inputs(forward: cst.FunctionDef, context_apart: bool) -> tuple[int, int] | None:
    """How many inputs forward takes at least and at most; None where that is open."""
    params = forward.params
    if isinstance(params.star_arg, cst.Param) or params.star_kwarg is not None or params.kwonly_params:
        return None
    found = [*params.posonly_params, *params.params][0 if context_apart else 1 :]
    return sum(param.default is None for param in found), len(found)


def _returns(body: cst.CSTNode) -> Iterator[cst.Return]:
    """The return statements of a function, not those of functions in it."""
    for child in children(body):
        if isinstance(child, cst.Return):
            yield child
        elif not isinstance(child, (cst.FunctionDef, cst.Lambda, cst.ClassDef)):
            yield from _returns(child)


def _given(node: cst.Return, backward: cst.FunctionDef) -> tuple[int, int] | None:
    """How many values a return gives, and how many without the trailing None; None where that cannot be told."""
    value = node.value
    if isinstance(value, cst.Tuple):
        if any(isinstance(element, cst.StarredElement) for element in value.elements):
            return None
        values = [element.value for element in value.elements]
    elif isinstance(value, (cst.BinaryOperation, cst.UnaryOperation)) and not _may_be_tuple(value):
        values = [value]
    elif (
        isinstance(value, cst.Name)
        and value.value in {param.name.value for param in backward.params.params}
        and not _assigned(backward.body, value.value)
    ):
        values = [value]
    else:
        return None
    needed = len(values)
    while needed and isinstance(values[needed - 1], cst.Name) and values[needed - 1].value == "None":
        needed -= 1
    return len(values), needed


def _may_be_tuple(value: cst.BaseExpression) -> bool:
    """`grads + (None,)` and `(None,) * 3` are tuples as well."""
    if isinstance(value, (cst.Tuple, cst.Call)):
        return True
    if isinstance(value, cst.BinaryOperation):
        return (
            isinstance(value.operator, (cst.Add, cst.Multiply))
            and (_may_be_tuple(value.left) or _may_be_tuple(value.right))
            or (
                isinstance(value.operator, cst.Add)
                and isinstance(value.left, cst.Name)
                and isinstance(value.right, cst.Name)
            )
        )
    return False


def _assigned(body: cst.CSTNode, name: str) -> bool:
    """Whether a function assigns a name."""
    if isinstance(body, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign)):
        return isinstance(body.target, cst.Name) and body.target.value == name
    if isinstance(body, (cst.Tuple, cst.List)):
        return any(isinstance(element.value, cst.Name) and element.value.value == name for element in body.elements)
    return any(_assigned(child, name) for child in children(body) if not isinstance(child, cst.Return))


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
