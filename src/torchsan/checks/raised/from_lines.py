"""116, 123, 126, 128, 131, 137, 709, 712: errors that tell of a pitfall together with the line that they come from.

`errors.py` knows torch's errors by their text alone. Most of these are Python's own, or say what was refused and not
what led there: the line, and what its names stand for, tell the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from torchsan.check import Check
from torchsan.checks.gradients.used_up_iterator import used_before
from torchsan.errors.note import Explanation, attach, note
from torchsan.errors.operands import Frame, at_error, expression, frames, layer_of, look_up, made
from torchsan.own import os, re, torch
from torchsan.program.autograd_graph import nodes
from torchsan.program.source import tree_of
from torchsan.program.where import _USER, Where
from torchsan.report import wording
from torchsan.stream.events import Event

_NONE = re.compile(r"'NoneType'")
_EMPTY = "optimizer got an empty parameter list"
_CLOSURE = re.compile(r"LBFGS\.step\(\) missing 1 required positional argument: 'closure'")
_UNSCALED = re.compile(r"unscale_\(\) (has already been called on this optimizer|is being called after step\(\))")
_UNSAFE_BCE = "binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast"
_COUNT = re.compile(r"function (\w+)Backward returned an incorrect number of gradients \(expected (\d+), got (\d+)\)")
_SHAPE = re.compile(
    r"Function (\w+)Backward returned an invalid gradient at index (\d+) - (?:got (\[.*?\])|expected \S+ (\S+))"
)
_AUTOGRAD = os.path.dirname(torch.autograd.__file__)
_NODES = 1 << 16  # of a graph to look through: the program has ended
_Parts = tuple[tuple[Where, str], ...]


class _Told(NamedTuple):
    """What is known of an error: the number, the line to mend, other lines, the page's roles, words of our own."""

    number: int
    where: Where
    related: _Parts = ()
    roles: dict[str, Any] = {}
    words: tuple[str, str] | None = None
    fact: str = ""


class Raised(Check):
    """An error comes from a mistake in the training step."""

    numbers = (116, 123, 126, 128, 131, 137, 709, 712)

    def on_error(self, event: Event) -> None:
        error = event.error
        way = frames(error.__traceback__)
        at = next((index for index in range(len(way) - 1, -1, -1) if way[index].kind == _USER), None)
        if at is None:
            return
        told = next((told for look in _LOOKS if (told := look(error, way, at)) is not None), None)
        if told is None or not self.watch.wants(told.number):
            return
        page = wording.rule(told.number, "", self.watch.pages)
        message, help = told.words or (page.message, page.help)
        summary = wording.fill(message, told.roles)
        attach(
            error,
            note(
                Explanation(
                    told.number, page.name, summary, wording.fill(help, told.roles), told.where, layer_of(way),
                    at_error(way), None, list(told.related), [told.fact] if told.fact else [], _first_line(error),
                )
            ),
        )
        if told.number == 712 and any(finding.number == 704 for finding in self.watch.findings):
            return  # the update that is missing is what makes it the second time
        self.found(
            told.number, told.where, related=told.related, words=told.words, fact=told.fact or _first_line(error),
            details={"error": _first_line(error)}, **told.roles,
        )


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0][:160]


def _text(node: ast.AST | None) -> str:
    return "" if node is None else ast.unparse(node)


def _no_gradient(error: BaseException, way: list[Frame], at: int) -> _Told | None:
    """`.grad` is None because what stands before it is no leaf: an update made a new tensor of it, or it never was."""
    if at != len(way) - 1 or not isinstance(error, (TypeError, AttributeError)) or not _NONE.search(str(error)):
        return None
    frame = way[at]
    for node in _gradients(_statement(frame)):
        value = look_up(frame.frame, node.value)
        if not isinstance(value, torch.Tensor) or value.is_leaf or not value.requires_grad or value.retains_grad:
            continue
        name = ast.unparse(node.value)
        row = _updated(frame, name)
        if row is not None:
            place = frame.where if row == frame.line else Where(frame.frame.f_code, -1, row)
            return _Told(
                123, place, ((frame.where, f"`{name}.grad` is None from the second time on"),) * (row != frame.line),
                {"name": name}, fact=f"`{name}` is the result of {_made_by(value)}, and only leaves get a gradient",
            )
        place = made(way, at, node.value)
        return _Told(
            116, place or frame.where, ((frame.where, f"`{name}.grad` is None"),) if place else (), {"name": name},
            ("`{name}` is the result of an operation and no leaf: its `.grad` stays None",
             "make it a leaf last: compute the values, then `.detach().requires_grad_()` or `nn.Parameter(...)`"),
            f"made by {_made_by(value)}",
        )
    return None


def _made_by(value: torch.Tensor) -> str:
    """The operation that a tensor came out of, as people write it: "sub" for SubBackward0."""
    name = value.grad_fn.name() if value.grad_fn is not None else "an operation"
    return "`" + re.sub(r"Backward\d*$", "", name.rpartition("::")[2]).lower() + "`"


def _statement(frame: Frame) -> ast.AST | None:
    """The innermost statement that a frame was at."""
    tree = tree_of(frame.frame.f_code.co_filename)
    best = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.stmt) and node.lineno <= frame.line <= (node.end_lineno or node.lineno):
            best = node  # ast.walk comes to the inner ones later
    return best


def _gradients(node: ast.AST | None) -> Iterator[ast.Attribute]:
    """Every `something.grad` in a statement."""
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Attribute) and part.attr == "grad":
            yield part


def _updated(frame: Frame, name: str) -> int | None:
    """The row of `name = <something with name.grad>` in the function of a frame."""
    tree = tree_of(frame.frame.f_code.co_filename)
    first = frame.frame.f_code.co_firstlineno
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign) and node.lineno >= first and isinstance(node.value, ast.BinOp):
            if [ast.unparse(target) for target in node.targets] == [name]:
                if any(ast.unparse(grad.value) == name for grad in _gradients(node.value)):
                    return node.lineno
    return None


_NUMBER = "keep the loss a tensor up to `backward()`: `.item()`, `float()` and NumPy functions leave the graph"
_KINDS = {
    "NoneType": ("nothing: what should return it returns None", "return the loss from the function that computes it"),
    "tuple": ("a tuple", "take the loss out of the tuple that the model or function returns"),
    "list": ("a list", "add up its tensors: `sum(losses)` or `torch.stack(losses).mean()`"),
    "dict": ("a dict", "take the loss out of the dict"),
}


def _no_tensor(error: BaseException, way: list[Frame], at: int) -> _Told | None:
    """`loss.backward()` of something that is no tensor."""
    if not isinstance(error, AttributeError) or getattr(error, "name", "") != "backward" or at != len(way) - 1:
        return None
    value = getattr(error, "obj", error)
    if isinstance(value, (torch.Tensor, torch.nn.Module)) or type(value).__module__ not in ("builtins", "numpy"):
        return None
    frame = way[at]
    calls = (n for n in ast.walk(_statement(frame) or ast.Module([], [])) if isinstance(n, ast.Attribute))
    node = next((call.value for call in calls if call.attr == "backward"), None)
    kind = type(value).__name__
    number = f"a number of {'Python' if type(value).__module__ == 'builtins' else 'NumPy'}, {kind}"
    what, mend = _KINDS.get(kind, (number, _NUMBER))
    place = None if node is None else _last_bound(way, at, node)
    name = _text(node) or "loss"
    return _Told(
        128, frame.where, ((place, f"`{name}` was made here"),) if place else (), {"loss": name},
        (f"`{{loss}}` is {what}, and no tensor: there is no graph to go back through", mend),
    )


def _last_bound(way: list[Frame], at: int, node: ast.expr) -> Where | None:
    place = made(way, at, node) if isinstance(node, ast.Name) else None
    return None if place is None or place.line == way[at].line else place


def _empty(error: BaseException, way: list[Frame], at: int) -> _Told | None:
    """An optimizer gets an iterator that something else has walked through before."""
    if not isinstance(error, ValueError) or str(error) != _EMPTY:
        return None
    call = expression(way[at])
    for node in ast.walk(call) if call is not None else ():
        if not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        value = look_up(way[at].frame, node)
        if value is None or isinstance(value, type) or not hasattr(type(value), "__next__"):
            continue
        name = ast.unparse(node)
        row = used_before(way[at].frame.f_code, way[at].line, name)
        if row is not None:
            return _Told(
                131, way[at].where, ((Where(way[at].frame.f_code, -1, row), "used up here"),),
                {"name": name, "call": _text(call.func) if isinstance(call, ast.Call) else "it"},
            )
    return None


def _without_closure(error: BaseException, way: list[Frame], at: int) -> _Told | None:
    if not isinstance(error, TypeError) or not _CLOSURE.search(str(error)):
        return None
    return _Told(126, way[at].where, (), {"call": _text(expression(way[at])) or "step()"})


def _unscaled_twice(error: BaseException, way: list[Frame], at: int) -> _Told | None:
    if not isinstance(error, RuntimeError) or not _UNSCALED.search(str(error)):
        return None
    call = expression(way[at])
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        return _Told(712, way[at].where, (), {"call": ast.unparse(call), "scaler": ast.unparse(call.func.value)})
    return _Told(712, way[at].where, (), {"call": "unscale_()", "scaler": "scaler"})


def _unsafe_loss(error: BaseException, way: list[Frame], at: int) -> _Told | None:
    if not isinstance(error, RuntimeError) or _UNSAFE_BCE not in str(error):
        return None
    return _Told(709, way[at].where, (), {"call": _text(expression(way[at])) or "BCELoss"})


def _custom_function(error: BaseException, way: list[Frame], at: int) -> _Told | None:
    """The gradients that a user's own autograd function returns are too few, too many, or of another shape."""
    text = str(error) if isinstance(error, RuntimeError) else ""
    count, shape = _COUNT.search(text), _SHAPE.search(text)
    found = count or shape
    cls = None if found is None else _function(found[1], way)
    if found is None or cls is None:
        return None
    place = _returns(cls) or way[at].where
    related = ((way[at].where, "the backward that failed"),) if place is not way[at].where else ()
    name = cls.__qualname__.rpartition(".<locals>.")[2]
    if count is not None:
        wanted, got = int(count[2]), int(count[3])
        roles = {"name": name, "gradients": _number(got, "gradient"), "inputs": _number(wanted, "input")}
        return _Told(137, place, related, roles)
    index = int(found[2])
    taken = _argument(cls, index)
    return _Told(
        137, place, related, {"name": name, "value": taken or f"input {index}"},
        ("what `{name}.backward` returns for `{value}` does not fit it",
         "each gradient has the shape of its input, and they come in forward's order"),
    )


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _function(name: str, way: list[Frame]) -> type | None:
    """The autograd function of this name in the graph whose backward failed."""
    inner = way[-1].frame.f_locals if way[-1].frame.f_code.co_filename.startswith(_AUTOGRAD) else {}
    roots = next((given for key in ("t_outputs", "tensors") if isinstance(given := inner.get(key), tuple)), ())
    starts = [root.grad_fn for root in roots if isinstance(root, torch.Tensor)]
    for node in nodes(starts, _NODES, nearest=False):
        cls = getattr(type(node), "_forward_cls", None)
        if cls is not None and cls.__name__ == name:
            return cls
    return None


def _code(cls: type, method: str) -> Any:
    function = vars(cls).get(method)
    return getattr(getattr(function, "__func__", function), "__code__", None)


def _argument(cls: type, index: int) -> str | None:
    """What forward calls its input number `index`, the context not counted."""
    code = _code(cls, "forward")
    if code is None:
        return None
    names = code.co_varnames[:code.co_argcount]
    names = names[0 if "setup_context" in vars(cls) else 1:]
    return names[index] if index < len(names) else None


def _returns(cls: type) -> Where | None:
    """The last line of a function's `backward` that returns."""
    code = _code(cls, "backward")
    tree = None if code is None else tree_of(code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == "backward":
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == code.co_firstlineno:
                rows = [part.lineno for part in ast.walk(node) if isinstance(part, ast.Return)]
                return Where(code, -1, max(rows)) if rows else None
    return None


_LOOKS = (
    _no_gradient, _no_tensor, _empty, _without_closure, _unscaled_twice, _unsafe_loss, _custom_function,
)
CHECKS = (Raised,)
