"""What a family of torch's errors is: how torch words it, what is said of it, and what can be asked about such an error."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NamedTuple

from torchsan.errors.operands import Frame, Operand, expression, look_up, made
from torchsan.own import re, torch
from torchsan.program.where import _OURS, _USER
from torchsan.report import printing


class Said(NamedTuple):
    """What a look at an error found: facts in words, the operand that does not fit, a better mend or cause."""

    facts: tuple[str, ...] = ()
    value: Operand | None = None
    mend: str = ""
    what: str = ""
    beside: bool = False  # the facts stand beside the family's own, and not for it


class Argument(NamedTuple):
    """What stands on the user's line: the text, its value where that is known without running code, and its node."""

    text: str
    value: Any
    node: ast.expr


class Seen(NamedTuple):
    """An error on its way out: torch's words, the frames that it passed, the operands on the user's line."""

    text: str
    match: re.Match[str]
    way: list[Frame]
    operands: list[Operand]
    watch: Any

    def given(self, name: str) -> Any:
        """The variable `name` of torch's own functions that failed, the innermost first."""
        for one in reversed(self.way):
            if one.kind == _USER:
                return None
            if one.kind == _OURS and name in one.frame.f_locals:
                return one.frame.f_locals[name]
        return None

    def user(self) -> int | None:
        """Where the user's line stands on the way."""
        return next((at for at in range(len(self.way) - 1, -1, -1) if self.way[at].kind == _USER), None)

    def line(self) -> str:
        """The user's line as it is written."""
        at = self.user()
        return "" if at is None else printing.source_line(self.way[at].where.location()) or ""

    def node(self) -> ast.AST | None:
        """What was being evaluated on the user's line."""
        at = self.user()
        return None if at is None else expression(self.way[at])

    def arguments(self) -> list[Argument]:
        """What the failing call or operator was given, the tensor that a method is called on first."""
        at, node = self.user(), self.node()
        if at is None:
            return []
        frame = self.way[at].frame
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return)) and node.value is not None:
            node = node.value
        elif isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)):
            node = node.test
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not _is_library(look_up(frame, node.func.value)):
                parts.append(node.func.value)
            parts += [part for part in node.args if not isinstance(part, ast.Starred)]
            parts += [word.value for word in node.keywords if word.arg]
        elif isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.AugAssign):
            parts = [node.target, node.value]
        elif isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Subscript):
            parts = [node.value, node.slice]
        elif isinstance(node, ast.UnaryOp):
            parts = [node.operand]
        elif isinstance(node, (ast.Name, ast.Attribute)):
            parts = [node]
        return [Argument(ast.unparse(part), look_up(frame, part), part) for part in parts]

    def tensors(self) -> list[Operand]:
        """The arguments that are known tensors, in the order of the text."""
        at = self.user()
        found = []
        for one in self.arguments():
            if isinstance(one.value, torch.Tensor):
                place = None if at is None else made(self.way, at, one.node)
                found.append(Operand(one.text, one.value, place))
        return found

    def operand(self, value: Any) -> Operand | None:
        """The operand that holds a value."""
        return next((one for one in (*self.tensors(), *self.operands) if one.value is value), None)

    def only(self, fits: Callable[[torch.Tensor], bool]) -> Operand | None:
        """The one operand that has a property; None where none or several have it."""
        found = {id(one.value): one for one in (*reversed(self.operands), *self.tensors()) if fits(one.value)}
        return next(iter(found.values())) if len(found) == 1 else None

    def role(self, name: str) -> Operand | None:
        """What torch's function calls `name`, by the user's word for it."""
        value = self.given(name)
        return self.operand(value) if isinstance(value, torch.Tensor) else None


def _is_library(value: Any) -> bool:
    """Whether what a call hangs on is a module of Python's (`torch`, `F`) or a class, and so no operand."""
    return type(value).__name__ == "module" or isinstance(value, type)


class Family(NamedTuple):
    """Errors that are one mistake of the user's.

    Args:
        name: a word for it, where no pitfall of the catalogue has one.
        words: a regular expression on torch's message; its named groups fill the fields of what is said.
        what: the cause. Empty where the pitfall's own words say it.
        mend: what to type.
        fact: what the message says in numbers, said in words.
        look: finds more at the error: operands, better words.
        number: the pitfall that it belongs to.
        inside: the end of the path of torch's file that raises it, where the words alone say too little.
        kinds: classes of the exception, where the words alone say too little.
        fits: looks at the frames, where the words say too little.
    """

    name: str
    words: str
    what: str = ""
    mend: str = ""
    fact: str = ""
    look: Callable[[Seen], Said | None] | None = None
    number: int | None = None
    inside: str = ""
    kinds: tuple[type[BaseException], ...] = ()
    fits: Callable[[list[Frame]], bool] | None = None


def shape(value: torch.Tensor) -> str:
    """[8, 4], as people write it."""
    return str(list(value.shape))


def kind(value: Any) -> str:
    """What a value is, in a word: "a list", "an array of NumPy's"."""
    if type(value).__module__ == "numpy":
        return "an array of NumPy's" if type(value).__name__ == "ndarray" else "a number of NumPy's"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def dtype(value: torch.Tensor) -> str:
    """float32, without the package."""
    return str(value.dtype).removeprefix("torch.")
