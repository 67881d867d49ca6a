"""Makes libcst's expressions from those of Python's own tree."""

from __future__ import annotations

import ast
import re

import libcst as cst

from torchlint.dryrun.scout.makers import Odd, maker, put_in_parentheses
from torchlint.dryrun.scout.rows import Rows, Stretch

_name = maker(cst.Name, "value")
_attribute = maker(cst.Attribute, "value", "attr")
_call = maker(cst.Call, "func", "args")
arg_of = maker(cst.Arg, "value", "keyword", "star")
_binary = maker(cst.BinaryOperation, "left", "operator", "right")
_unary = maker(cst.UnaryOperation, "operator", "expression")
_boolean = maker(cst.BooleanOperation, "left", "operator", "right")
_comparison = maker(cst.Comparison, "left", "comparisons")
_compared = maker(cst.ComparisonTarget, "operator", "comparator")
_choice = maker(cst.IfExp, "test", "body", "orelse")
_lambda = maker(cst.Lambda, "params", "body")
_element = maker(cst.Element, "value")
_starred = maker(cst.StarredElement, "value")
_dict = maker(cst.Dict, "elements")
_pair = maker(cst.DictElement, "key", "value")
_starred_pair = maker(cst.StarredDictElement, "value")
_dict_comprehension = maker(cst.DictComp, "key", "value", "for_in")
_for_in = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in")
_if_in = maker(cst.CompIf, "test")
_subscript = maker(cst.Subscript, "value", "slice")
_subscripted = maker(cst.SubscriptElement, "slice")
_index = maker(cst.Index, "value")
_slice = maker(cst.Slice, "lower", "upper", "step")
_named = maker(cst.NamedExpr, "target", "value")
_await = maker(cst.Await, "expression")
_yield = maker(cst.Yield, "value")
from_of = maker(cst.From, "item")
_string = maker(cst.SimpleString, "value")
_strings = maker(cst.ConcatenatedString, "left", "right")
_formatted = maker(cst.FormattedString, "parts")
_formatted_text = maker(cst.FormattedStringText, "value")
_formatted_value = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")
_params = maker(cst.Parameters, "posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg")
_param = maker(cst.Param, "name", "annotation", "default")
annotation_of = maker(cst.Annotation, "annotation")
_ellipsis = maker(cst.Ellipsis)
_NUMBERS = {int: maker(cst.Integer, "value"), float: maker(cst.Float, "value"), complex: maker(cst.Imaginary, "value")}
_SEQUENCES = {ast.List: maker(cst.List, "elements"), ast.Set: maker(cst.Set, "elements"), ast.Tuple: maker(cst.Tuple, "elements")}
_COMPREHENSIONS = {
    ast.ListComp: maker(cst.ListComp, "elt", "for_in"),
    ast.SetComp: maker(cst.SetComp, "elt", "for_in"),
    ast.GeneratorExp: maker(cst.GeneratorExp, "elt", "for_in"),
}
OPERATORS = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.Div: cst.Divide(), ast.FloorDiv: cst.FloorDivide(),
    ast.Mod: cst.Modulo(), ast.Pow: cst.Power(), ast.MatMult: cst.MatrixMultiply(), ast.LShift: cst.LeftShift(),
    ast.RShift: cst.RightShift(), ast.BitOr: cst.BitOr(), ast.BitXor: cst.BitXor(), ast.BitAnd: cst.BitAnd(),
    ast.And: cst.And(), ast.Or: cst.Or(),
    ast.Not: cst.Not(), ast.USub: cst.Minus(), ast.UAdd: cst.Plus(), ast.Invert: cst.BitInvert(),
    ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(), ast.Lt: cst.LessThan(), ast.LtE: cst.LessThanEqual(), ast.Gt: cst.GreaterThan(),
    ast.GtE: cst.GreaterThanEqual(), ast.Is: cst.Is(), ast.IsNot: cst.IsNot(), ast.In: cst.In(), ast.NotIn: cst.NotIn(),
}
_ONE_STRING = r"(?i:[rbuft]{0,2})(?:'''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'(?:[^\\'\n]|\\.)*'|\"(?:[^\\\"\n]|\\.)*\")"
_STRING = re.compile(_ONE_STRING, re.S)
_BETWEEN_STRINGS = re.compile(r"(?:\s|\\\n|#[^\n]*\n)*")


class Expressions:
    """Makes expressions. `places` has, by the id of each that was made, the node that it was made from."""

    def __init__(self, rows: Rows):
        self.rows = rows
        self.grouped = set(rows.grouped)
        self.places: dict[int, ast.AST] = {}

    def expression(self, node: ast.expr) -> cst.BaseExpression:
        """The node for an expression.

        Raises:
            Odd: for what is seldom written.
        """
        make = _EXPRESSIONS.get(type(node))
        if make is None:
            raise Odd
        if self.grouped and (node.lineno, node.col_offset) in self.grouped:
            self.grouped.remove((node.lineno, node.col_offset))
            made = put_in_parentheses(make(self, node))
        else:
            made = make(self, node)
        self.places[id(made)] = node
        return made

    def maybe(self, node: ast.expr | None) -> cst.BaseExpression | None:
        return None if node is None else self.expression(node)

    def name(self, node: ast.Name) -> cst.Name:
        return _name(node.id)

    def named(self, name: str) -> cst.Name:
        """A name that is no node of Python's own tree."""
        return _name(name)

    def dotted(self, name: str) -> cst.Name | cst.Attribute:
        """Names with dots between them, of an import."""
        first, *rest = name.split(".")
        made = _name(first)
        for part in rest:
            made = _attribute(made, _name(part))
        return made

    def attribute(self, node: ast.Attribute) -> cst.Attribute:
        return _attribute(self.expression(node.value), _name(node.attr))

    def call(self, node: ast.Call) -> cst.Call:
        func = self.expression(node.func)
        return _call(func, self.arguments(node.args, node.keywords))

    def arguments(self, args: list[ast.expr], keywords: list[ast.keyword]) -> list[cst.Arg]:
        """The arguments of a call or a class, in the order in which they stand."""
        if keywords and args:
            last, first = args[-1], keywords[0]
            if (last.lineno, last.col_offset) > (first.value.lineno, first.value.col_offset):
                both = sorted([*args, *keywords], key=lambda one: (one.lineno, one.col_offset))
                return [self.argument(one) for one in both]
        return [self.argument(one) for one in (*args, *keywords)]

    def argument(self, node: ast.expr | ast.keyword) -> cst.Arg:
        kind = type(node)
        if kind is ast.keyword:
            value = self.expression(node.value)
            made = arg_of(value, None, "**") if node.arg is None else arg_of(value, _name(node.arg), "")
        elif kind is ast.Starred:
            made = arg_of(self.expression(node.value), None, "*")
        else:
            made = arg_of(self.expression(node), None, "")
        self.places[id(made)] = node
        return made

    def constant(self, node: ast.Constant) -> cst.BaseExpression:
        value = node.value
        kind = type(value)
        if kind is str or kind is bytes:
            return self.string(node)
        if value is None or kind is bool:
            return _name(str(value))
        if kind in _NUMBERS:
            return _NUMBERS[kind](self.rows.text(node))
        return _ellipsis()

    def string(self, node: ast.Constant) -> cst.BaseExpression:
        text = self.rows.text(node)
        found = _STRING.match(text)
        if found is None:
            raise Odd
        if found.end() == len(text):
            return _string(text)
        return self.joined([_string(part) for part in _pieces(text)])

    def joined(self, parts: list[cst.BaseExpression]) -> cst.BaseExpression:
        """Strings that stand side by side."""
        made = parts.pop()
        while parts:
            made = _strings(parts.pop(), made)
        return made

    def formatted(self, node: ast.JoinedStr) -> cst.BaseExpression:
        text = self.rows.text(node)
        found = _STRING.match(text)
        if found is None:
            raise Odd
        parts = self.formatted_parts(node)
        if found.end() == len(text):
            return _formatted(parts)
        made: list[cst.BaseExpression] = []
        for piece in _pieces(text):
            # What stands in which of them is all the same, as long as it stays in order.
            if "f" in piece[: piece.index(piece[-1])].lower():
                made.append(_formatted(parts))
                parts = []
            else:
                made.append(_string(piece))
        return self.joined(made)

    def formatted_parts(self, node: ast.JoinedStr) -> list[cst.BaseFormattedStringContent]:
        made = []
        for part in node.values:
            if type(part) is ast.FormattedValue:
                spec = part.format_spec
                conversion = None if part.conversion < 0 else chr(part.conversion)
                inner = self.expression(part.value)
                made.append(_formatted_value(inner, conversion, None if spec is None else self.formatted_parts(spec)))
            else:
                made.append(_formatted_text(part.value))
        return made

    def binary(self, node: ast.BinOp) -> cst.BinaryOperation:
        return _binary(self.expression(node.left), OPERATORS[type(node.op)], self.expression(node.right))

    def unary(self, node: ast.UnaryOp) -> cst.UnaryOperation:
        return _unary(OPERATORS[type(node.op)], self.expression(node.operand))

    def boolean(self, node: ast.BoolOp) -> cst.BooleanOperation:
        operator = OPERATORS[type(node.op)]
        first, *rest = node.values
        made = self.expression(first)
        for value in rest:
            made = _boolean(made, operator, self.expression(value))
            if value is not rest[-1]:
                # It has no node of its own: it goes from the first of the values to this one.
                end = self.rows.end_of(value, made.right.lpar)
                self.places[id(made)] = Stretch(node.lineno, node.col_offset, *end)
        return made

    def comparison(self, node: ast.Compare) -> cst.Comparison:
        left = self.expression(node.left)
        return _comparison(left, [_compared(OPERATORS[type(op)], self.expression(side)) for op, side in zip(node.ops, node.comparators)])

    def choice(self, node: ast.IfExp) -> cst.IfExp:
        return _choice(self.expression(node.test), self.expression(node.body), self.expression(node.orelse))

    def function(self, node: ast.Lambda) -> cst.Lambda:
        return _lambda(self.parameters(node.args), self.expression(node.body))

    def parameters(self, args: ast.arguments) -> cst.Parameters:
        """The parameters of a function or a lambda."""
        positional = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
        made = [self.parameter(arg, default) for arg, default in zip(positional, defaults)]
        only = len(args.posonlyargs)
        if args.vararg is not None:
            star = self.parameter(args.vararg, None)
        else:
            star = cst.ParamStar() if args.kwonlyargs else cst.MaybeSentinel.DEFAULT
        named = [self.parameter(arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults)]
        rest = None if args.kwarg is None else self.parameter(args.kwarg, None)
        return _params(made[:only], made[only:], star, named, rest)

    def parameter(self, arg: ast.arg, default: ast.expr | None) -> cst.Param:
        annotation = None if arg.annotation is None else annotation_of(self.expression(arg.annotation))
        name = _name(arg.arg)
        made = _param(name, annotation, self.maybe(default))
        self.places[id(made)] = self.places[id(name)] = Stretch(
            arg.lineno, arg.col_offset, arg.lineno, arg.col_offset + len(arg.arg.encode())
        )
        return made

    def sequence(self, node: ast.List | ast.Set | ast.Tuple) -> cst.BaseExpression:
        kind = type(node)
        own = kind is ast.Tuple and self.own_parentheses(node)
        made = _SEQUENCES[kind]([self.element(item) for item in node.elts])
        return put_in_parentheses(made) if own else made

    def own_parentheses(self, node: ast.expr) -> bool:
        """Whether a tuple or generator begins with a parenthesis of its own, which is no other's then."""
        if not self.rows.in_parentheses(node):
            return False
        self.grouped.discard(self.rows.opening.get((node.lineno, node.col_offset)))
        return True

    def element(self, node: ast.expr) -> cst.Element | cst.StarredElement:
        if type(node) is ast.Starred:
            made = _starred(self.expression(node.value))
        else:
            made = _element(self.expression(node))
        self.places[id(made)] = node
        return made

    def starred(self, node: ast.Starred) -> cst.StarredElement:
        return _starred(self.expression(node.value))

    def mapping(self, node: ast.Dict) -> cst.Dict:
        made = []
        for key, value in zip(node.keys, node.values):
            made.append(_starred_pair(self.expression(value)) if key is None else _pair(self.expression(key), self.expression(value)))
        return _dict(made)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> cst.BaseExpression:
        kind = type(node)
        own = kind is ast.GeneratorExp and self.own_parentheses(node)
        made = _COMPREHENSIONS[kind](self.expression(node.elt), self.for_in(node.generators))
        return put_in_parentheses(made) if own else made

    def dict_comprehension(self, node: ast.DictComp) -> cst.DictComp:
        return _dict_comprehension(self.expression(node.key), self.expression(node.value), self.for_in(node.generators))

    def for_in(self, generators: list[ast.comprehension]) -> cst.CompFor:
        """The loops of a comprehension, one in the other."""
        made = None
        for part in reversed(generators):
            target, over = self.expression(part.target), self.expression(part.iter)
            made = _for_in(target, over, [_if_in(self.expression(test)) for test in part.ifs], made)
            self.places[id(made)] = part.target
        return made

    def subscript(self, node: ast.Subscript) -> cst.Subscript:
        value, key = self.expression(node.value), node.slice
        if type(key) is ast.Tuple and key.elts and not self.own_parentheses(key):
            return _subscript(value, [self.subscripted(item) for item in key.elts])
        return _subscript(value, [self.subscripted(key)])

    def subscripted(self, node: ast.expr) -> cst.SubscriptElement:
        if type(node) is ast.Slice:
            return _subscripted(_slice(self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step)))
        if type(node) is ast.Starred:
            raise Odd
        return _subscripted(_index(self.expression(node)))

    def assigned(self, node: ast.NamedExpr) -> cst.NamedExpr:
        return _named(self.expression(node.target), self.expression(node.value))

    def awaited(self, node: ast.Await) -> cst.Await:
        return _await(self.expression(node.value))

    def yielded(self, node: ast.Yield | ast.YieldFrom) -> cst.Yield:
        value = self.maybe(node.value)
        return _yield(from_of(value) if type(node) is ast.YieldFrom else value)


def _pieces(text: str) -> list[str]:
    """The strings of several that stand side by side.

    Raises:
        Odd: they cannot be told from each other.
    """
    made, at = [], 0
    while at < len(text):
        found = _STRING.match(text, at)
        if found is None:
            raise Odd
        made.append(found[0])
        at = _BETWEEN_STRINGS.match(text, found.end()).end()
    return made


_EXPRESSIONS = {
    ast.Name: Expressions.name,
    ast.Attribute: Expressions.attribute,
    ast.Call: Expressions.call,
    ast.Constant: Expressions.constant,
    ast.JoinedStr: Expressions.formatted,
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.BoolOp: Expressions.boolean,
    ast.Compare: Expressions.comparison,
    ast.IfExp: Expressions.choice,
    ast.Lambda: Expressions.function,
    ast.List: Expressions.sequence,
    ast.Set: Expressions.sequence,
    ast.Tuple: Expressions.sequence,
    ast.Starred: Expressions.starred,
    ast.Dict: Expressions.mapping,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.dict_comprehension,
    ast.Subscript: Expressions.subscript,
    ast.NamedExpr: Expressions.assigned,
    ast.Await: Expressions.awaited,
    ast.Yield: Expressions.yielded,
    ast.YieldFrom: Expressions.yielded,
}
