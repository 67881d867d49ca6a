"""What an expression is worth: by its kind, down to the parts that have no file of their own."""

from __future__ import annotations

import ast as python_ast
from functools import lru_cache

import libcst as cst

from torchlint.dryrun.assignment import Assignment
from torchlint.dryrun.attributes import Attributes
from torchlint.dryrun.containers import Containers
from torchlint.dryrun.iteration import Iteration
from torchlint.dryrun.names import Names
from torchlint.dryrun.operators import Operators
from torchlint.dryrun.tree import children
from torchlint.dryrun.values import NONE, OF_A_GPU, Const, Func, Opaque, Value


@lru_cache(maxsize=1024)
def _number(text: str) -> complex | None:
    """The number that a literal stands for; None for what Python takes for none. By `int` and `float` where they know it:
    `literal_eval` leaves a circle of closures behind with each call, for the garbage collector to find."""
    for read in (lambda: int(text, 0), lambda: float(text), lambda: python_ast.literal_eval(text)):
        try:
            return read()
        except (ValueError, SyntaxError, MemoryError):
            pass
    return None


@lru_cache(maxsize=256)
def _string(text: str) -> str | bytes:
    """The string that a literal stands for.

    Raises:
        SyntaxError, ValueError: Python takes it for none.
    """
    return python_ast.literal_eval(text)


class Expressions(Names, Containers, Iteration, Operators, Attributes, Assignment):
    """The part of a run that evaluates expressions. See `interpreter.Run` for the state it works on."""

    def eval(self, node: cst.BaseExpression) -> Value:
        """The value of an expression, with the events that computing it makes."""
        self.steps += 1
        if self.steps > self.allowed:
            raise self.TooMuch
        method = _EXPRESSIONS.get(type(node))
        return method(self, node) if method is not None else self.eval_parts(node)

    def eval_parts(self, node: cst.CSTNode) -> Value:
        """An expression of no special meaning: its parts are run, its value is not known."""
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                self.eval(child)
        return Opaque("", "op")

    def eval_integer(self, node) -> Value:
        text = node.value
        number = _number(text) if len(text) < 1000 else None
        return Opaque("", "op") if number is None else Const(number)

    def eval_string(self, node: cst.SimpleString) -> Value:
        text = node.value
        if text[0] in "'\"" and "\\" not in text and text[1:3] != text[0] * 2:
            return Const(text[1:-1])
        try:
            return Const(_string(text))
        except (ValueError, SyntaxError):
            return Opaque("", "op", tags=frozenset({"str"}))

    def eval_formatted(self, node: cst.FormattedString) -> Value:
        for part in node.parts:
            if type(part) is cst.FormattedStringExpression:
                self.eval(part.expression)
        first = node.parts[0] if node.parts else None
        known = type(first) is cst.FormattedStringText and first.value.startswith("cuda")
        return Opaque("", "op", tags=OF_A_GPU if known else frozenset({"str"}))

    def eval_lambda(self, node: cst.Lambda) -> Value:
        func = Func("<lambda>", self.frame.facts)
        func.node, func.parsed, func.frame = node, self.parsed, self.frame
        self.frame.captured = True
        return func

    def eval_named(self, node: cst.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value, quiet=True)
        return value

    def eval_await(self, node: cst.Await) -> Value:
        return self.eval(node.expression)

    def eval_yield(self, node: cst.Yield) -> Value:
        inner = node.value.item if type(node.value) is cst.From else node.value
        value = self.eval(inner) if inner is not None else NONE
        if type(node.value) is cst.From:
            value = self.start_iteration(value, node.value)()
        if self.frame is not None:
            self.frame.yields.append(value)
            self.frame.last = self.graph.tails
            self.frame.opens = len(self.graph.events), tuple(self.contexts[self.frame.depth :])
        return Opaque("", "op")


_EXPRESSIONS = {
    cst.Name: Expressions.eval_name,
    cst.Attribute: Expressions.eval_attribute,
    cst.Call: lambda run, node: run.eval_call(node),
    cst.Integer: Expressions.eval_integer,
    cst.Float: Expressions.eval_integer,
    cst.SimpleString: Expressions.eval_string,
    cst.FormattedString: Expressions.eval_formatted,
    cst.List: Expressions.eval_sequence,
    cst.Tuple: Expressions.eval_sequence,
    cst.Set: Expressions.eval_sequence,
    cst.Dict: Expressions.eval_dict,
    cst.ListComp: Expressions.eval_comprehension,
    cst.SetComp: Expressions.eval_comprehension,
    cst.GeneratorExp: Expressions.eval_comprehension,
    cst.DictComp: Expressions.eval_comprehension,
    cst.Lambda: Expressions.eval_lambda,
    cst.BinaryOperation: Expressions.eval_binary,
    cst.UnaryOperation: Expressions.eval_unary,
    cst.BooleanOperation: Expressions.eval_boolean,
    cst.Comparison: Expressions.eval_comparison,
    cst.IfExp: Expressions.eval_choice,
    cst.NamedExpr: Expressions.eval_named,
    cst.Await: Expressions.eval_await,
    cst.Yield: Expressions.eval_yield,
    cst.Subscript: Expressions.eval_subscript,
}
