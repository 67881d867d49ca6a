"""The lines between the forward and `loss.backward()` as code that can be run again.

A training loop computes its loss in a few statements. From the frame that calls backward, those statements are taken
that lead to the loss and change nothing of the program's: assignments to names out of expressions whose calls are
torch's, a module's, or functions of the user's that only compute. What other statements made (`x, y = next(batches)`)
is taken from the frame's variables, as long as nobody bound them to something else since.
"""

from __future__ import annotations

import ast
import copy
from types import CodeType, FrameType
from typing import Any, NamedTuple

from torchlint.findings import Location
from torchsan.nonfinite.origin import finite
from torchsan.nonfinite.purity import Pure, arguments_of, sets_attribute
from torchsan.nonfinite.statements import FILLS, blocks, loads, stores
from torchsan.nonfinite.undo import Undo
from torchsan.own import linecache, torch
from torchsan.program.layers import tensors
from torchsan.program.where import _USER, Where, kind_of
from torchsan.stream.forward_start import cut

_CALLERS = 3  # looked at, from the line of backward outwards
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LINES = 60  # statements looked at above backward


class Again(NamedTuple):
    """Code that gives the loss again: run in a copy of `names`, then `loss` is an expression to be evaluated."""

    code: CodeType
    loss: CodeType
    names: dict[str, Any]
    used: frozenset[str]
    undo: Undo

    def inputs(self) -> dict[str, Any]:
        """The variables that the code reads."""
        return {name: self.names[name] for name in self.used if name in self.names}

    def run(self) -> Any:
        """The loss, computed anew."""
        names = {name: cut(value) for name, value in self.names.items()}
        with self.undo.kept():
            exec(self.code, names)
            return eval(self.loss, names)


def lines_to(frame: FrameType, place: Where) -> Again | None:
    """The statements that lead to the `<loss>.backward()` at a place in a frame; None where they cannot run again.

    A GradScaler is left out: `scaler.scale(loss).backward()` gives `loss`. Where backward is called on an argument of
    the function's, such as in `def step(self, loss): loss.backward()`, the lines are those of the caller.

    Args:
        frame: where backward is called, still running, or done with backward but not with its variables.
        place: of the call.
    """
    way = _way(frame, place)
    loss = _loss(way[-1][1], Pure(frame)) if way else None
    for _ in range(_CALLERS):
        if loss is None:
            return None
        before = _before(way)[-_LINES:]
        is_argument = _is_argument(loss, before, frame)
        kept = _kept_on_argument(loss, before, frame)
        if not is_argument and kept is None:
            return _lines(frame, before, loss)
        code = frame.f_code
        name = loss.id if isinstance(loss, ast.Name) else kept
        while (frame := frame.f_back) is not None and kind_of(frame.f_code.co_filename) != _USER:
            pass
        if frame is None:
            return None
        way = _way(frame, Where(frame.f_code, frame.f_lasti, frame.f_lineno))
        if not way:
            return None
        if kept is not None:
            return _through_object(frame, way, code, kept, loss.attr)  # type: ignore[attr-defined]
        loss = _argument(way[-1][1], Pure(frame), code, name)
    return None


def lines_of(frame: FrameType, place: Where) -> Again | None:
    """The statements that lead to the one at a place, for what that computes; None where they cannot run again."""
    way = _way(frame, place)
    value = getattr(way[-1][1], "value", None) if way else None
    return _lines(frame, _before(way)[-_LINES:], value) if isinstance(value, ast.expr) else None


def _lines(frame: FrameType, before: list[ast.stmt], loss: ast.expr, maker: ast.stmt | None = None) -> Again | None:
    """The code that gives the loss: what of `before` leads to it, and last `maker`, which keeps it on an object."""
    undo = Undo()
    pure = Pure(frame, undo)
    calls = any(isinstance(node, ast.Call) for node in ast.walk(loss))
    if calls and not pure.expression(loss):
        return None
    names = {**frame.f_globals, **frame.f_locals}
    settled = {name for name, value in names.items() if _is_settled(value)}
    wanted = loads(loss) if maker is None else loads(maker)
    chosen = _choose(before, wanted, pure, settled)
    if not chosen and not calls and maker is None:
        return None
    made = {name for statement in chosen if isinstance(statement, ast.Assign) for name in stores(statement)}
    body = ast.Module([_Prune(made).visit(copy.deepcopy(statement)) for statement in chosen], [])
    body.body += [] if maker is None else [maker]
    ast.fix_missing_locations(body)
    used = frozenset().union(wanted, loads(loss), *map(loads, chosen))
    filename = frame.f_code.co_filename
    return Again(compile(body, filename, "exec"), compile(ast.Expression(loss), filename, "eval"), names, used, undo)


def _kept_on_argument(loss: ast.expr, before: list[ast.stmt], frame: FrameType) -> str | None:
    """The argument of the running function that a loss is kept on: "self" for `self.loss`."""
    if not isinstance(loss, ast.Attribute) or not isinstance(loss.value, ast.Name):
        return None
    name = loss.value.id
    if name not in arguments_of(frame.f_code) or any(name in stores(statement) for statement in before):
        return None
    return name


def _through_object(frame: FrameType, way: list, code: CodeType, argument: str, attribute: str) -> Again | None:
    """The loss is an attribute of an object: the call before, in the caller, of the method that sets it."""
    pure = Pure(frame)
    call = next(
        (
            node for node in ast.walk(way[-1][1])
            if isinstance(node, ast.Call) and getattr(pure.look_up(node.func), "__code__", None) is code
        ),
        None,
    )
    if call is None or not isinstance(call.func, ast.Attribute) or arguments_of(code)[:1] != (argument,):
        return None
    receiver = call.func.value
    before = _before(way)[-_LINES:]
    for at in range(len(before) - 1, -1, -1):
        statement = before[at]
        inner = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Expr, ast.Assign)) or not isinstance(inner, ast.Call):
            continue
        if not isinstance(inner.func, ast.Attribute) or ast.unparse(inner.func.value) != ast.unparse(receiver):
            continue
        if not sets_attribute(pure.look_up(inner.func), attribute):
            continue
        undo = Undo()
        if not Pure(frame, undo).expression(inner):
            return None
        loss = ast.fix_missing_locations(ast.copy_location(ast.Attribute(receiver, attribute, ast.Load()), receiver))
        found = _lines(frame, before[:at], loss, statement)
        return None if found is None else found._replace(undo=found.undo.joined(undo))
    return None


def _is_argument(loss: ast.expr, before: list[ast.stmt], frame: FrameType) -> bool:
    """Whether an expression is an argument of the running function, as the caller gave it."""
    if not isinstance(loss, ast.Name) or any(loss.id in stores(statement) for statement in before):
        return False
    return loss.id in arguments_of(frame.f_code)


def _argument(statement: ast.stmt, pure: Pure, code: CodeType, name: str) -> ast.expr | None:
    """What a statement that calls a function gives it for the argument `name`."""
    for call in ast.walk(statement):  # outer calls first
        if not isinstance(call, ast.Call) or any(isinstance(arg, ast.Starred) for arg in call.args):
            continue
        called = pure.look_up(call.func)
        if getattr(called, "__code__", None) is not code and _code_of_call(called) is not code:
            continue
        given = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
        names = arguments_of(code)
        at = names.index(name) - (names[0] == "self")
        return given or (call.args[at] if at < len(call.args) else None)
    return None


def _code_of_call(thing: Any) -> CodeType | None:
    return getattr(getattr(type(thing), "__call__", None), "__code__", None)


def _way(frame: FrameType, place: Where) -> list[tuple[list[ast.stmt], ast.stmt]]:
    """From the outermost block to the statement at a place: (block, statement) at every level.

    Of several on a line it is the one that the place lies in; where Python keeps no columns, the last that calls backward.
    """
    way: list[tuple[list[ast.stmt], ast.stmt]] = []
    try:
        node: ast.AST = ast.parse("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals)))
    except (SyntaxError, ValueError, RecursionError):
        return way
    span = place.location()
    row = span.row
    while True:
        found = [
            (block, statement) for block in blocks(node) for statement in block
            if statement.lineno <= row <= (statement.end_lineno or statement.lineno)
        ]
        if not found:
            return way
        inner = next((one for one in found if _holds(one[1], span)), found[-1])
        if span.column is None:
            inner = next((one for one in reversed(found) if "backward" in ast.unparse(one[1])), inner)
        way.append(inner)
        node = inner[1]


def _holds(statement: ast.stmt, span: Location) -> bool:
    """Whether a place lies in a statement."""
    if span.column is None:
        return False
    start, end = (statement.lineno, statement.col_offset + 1), (statement.end_lineno or 0, (statement.end_col_offset or 0) + 1)
    return start <= (span.row, span.column) < end


def _loss(statement: ast.AST, pure: Pure) -> ast.expr | None:
    """What backward is called on: `loss.backward()`, `torch.autograd.backward(loss)`, `fabric.backward(loss)`."""
    call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr not in ("backward", "manual_backward"):
        return None
    on = call.func.value
    if call.args and not isinstance(pure.look_up(on), (torch.Tensor, type)):
        return call.args[0] if not isinstance(call.args[0], (ast.List, ast.Tuple)) else None
    if isinstance(on, ast.Call) and isinstance(on.func, ast.Attribute) and on.func.attr == "scale":
        return on.args[0] if len(on.args) == 1 else None
    return on


def _before(way: list[tuple[list[ast.stmt], ast.stmt]]) -> list[ast.stmt]:
    """The statements above the last one, up to the loop or function around them."""
    found: list[ast.stmt] = []
    for block, statement in reversed(way):
        if isinstance(statement, (*_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        found = [*block[: next(at for at, one in enumerate(block) if one is statement)], *found]
    return found


def _is_settled(value: Any) -> bool:
    """Whether a variable's value is as good as computed anew: no tensor in it hangs on a graph or is not finite."""
    return all(t.grad_fn is None and finite(t.detach()) for t in tensors(value))


def _choose(before: list[ast.stmt], wanted: set[str], pure: Pure, settled: set[str]) -> list[ast.stmt]:
    """Of some statements, those that lead to the names wanted and can be run again; none where the last step cannot.

    What is settled is not computed anew where it is used as the variable has it now.
    """
    last = {name: at for at, statement in enumerate(before) for name in stores(statement)}
    can: list[bool] = []
    for at, statement in enumerate(before):
        fine = bool(stores(statement)) and pure.statement(statement)
        for name in loads(statement) if fine else ():
            reaching = next((j for j in range(at - 1, -1, -1) if name in stores(before[j])), -1)
            if not (reaching >= 0 and can[reaching]) and last.get(name, -1) != reaching:
                fine = False  # the variable holds something else by now
        can.append(fine)
    chosen = set()
    todo = [(name, len(before)) for name in wanted]
    seen = set()
    while todo:
        name, at = todo.pop()
        reaching = next((j for j in range(at - 1, -1, -1) if name in stores(before[j])), -1)
        if name in settled and last.get(name) == reaching:
            continue
        if reaching >= 0 and can[reaching] and reaching not in seen:
            seen.add(reaching)
            chosen.add(reaching)
            todo.extend((other, reaching) for other in loads(before[reaching]))
            if not isinstance(before[reaching], ast.Assign):
                todo.append((name, reaching))  # an `if` or `with` may leave it as it was
    for name in wanted:
        if name in last and not can[last[name]] and name not in settled:
            return []
    return [before[at] for at in sorted(chosen)]


class _Prune(ast.NodeTransformer):
    """Takes out what is only there for its effect, such as `losses.append(loss)`, but for lists that are made anew."""

    def __init__(self, made: set[str]):
        self.made = made

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in FILLS:
            if isinstance(call.func.value, ast.Name) and call.func.value.id in self.made:
                return node
        return ast.copy_location(ast.Pass(), node)
