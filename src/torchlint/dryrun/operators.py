"""What operators give: arithmetic, comparisons, `and`, `or`, `not`, `a if b else c`."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.arrays import of_numpys
from torchlint.dryrun.values import (
    FALSE,
    NOTHING,
    OF_A_GPU,
    Class,
    Const,
    Func,
    Instance,
    Member,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Union,
    Value,
    alternatives,
    boolean,
    join,
    number,
    same_class,
    says_cuda,
    union_of,
    with_parts,
)

_NANS = frozenset({"torch.nan", "numpy.nan", "numpy.NaN", "numpy.NAN", "math.nan"})


def _is_gradient(value: Value) -> bool:
    """Whether something is `p.grad`, which is None before a backward and behind a `zero_grad()`: `if p.grad is not None: return` stands
    before what is done there. (What is made where it `is None` is taken for made.)"""
    return isinstance(value, Tensor) and value.name == "grad" and "grad_of" in value.traits


def _is_nan(node: cst.BaseExpression, value: Value) -> bool:
    """Whether an expression is not-a-number, written as such: torch.nan, float("nan")."""
    if isinstance(value, Ref):
        return value.name in _NANS
    named = type(node) is cst.Call and type(node.func) is cst.Name and node.func.value == "float"
    if not named or len(node.args) != 1:
        return False
    given = node.args[0].value
    return type(given) is cst.SimpleString and given.value.strip("\"'").lower() == "nan"


def _same_constant(left: Value, right: Value) -> bool | None:
    """Whether two texts, answers or members of enumerations are the same; None where it is not certain. Numbers are never folded: they
    count loops."""
    if isinstance(left, Member) and isinstance(right, Member):
        return left.is_same(right)
    if isinstance(left, Member) or isinstance(right, Member) or not isinstance(left, Const) or not isinstance(right, Const):
        return None
    if isinstance(left.value, (str, bool)) and isinstance(right.value, (str, bool)):
        return left.value == right.value
    return None


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


def _is_among(value: Value, items: tuple[Value, ...] | None) -> bool | None:
    """Whether a text or a member of an enumeration is one of several things, all of which are known."""
    if not items:
        return None
    each = {_same_constant(value, item) for item in items}
    return True if True in each else False if each == {False} else None


def _is_softmax(site: Site, left: Value, right: Value) -> bool:
    """Whether a division is a softmax that is written out: `e / e.sum(1, keepdim=True)`, where `e` is what `exp` gave."""
    node, parsed = site.node, site.parsed
    if not isinstance(node, cst.BinaryOperation) or not _came_of("exp", left) or not _came_of("sum", right):
        return False
    total = right.site.node
    keeps = any(arg.keyword is not None and arg.keyword.value in ("keepdim", "keepdims") for arg in total.args)
    summed = total.args[0].value if isinstance(total.func.value, cst.Name) and total.func.value.value == "torch" else total.func.value
    same = left in right.parts if isinstance(node.left, cst.Name) else True
    return keeps and same and left.site.parsed is parsed is right.site.parsed and parsed.text(summed) == parsed.text(node.left)


def _came_of(name: str, value: Value) -> bool:
    """Whether a tensor is what a call gave, `torch.exp(x)` or `x.exp()`."""
    call = value.site.node if isinstance(value, Tensor) and value.site is not None else None
    return isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value == name


class Operators:
    """The part of a run that evaluates operators. See `interpreter.Run` for the state it works on."""

    def eval_binary(self, node: cst.BinaryOperation) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        self.last_operands = (node, left, right)
        return self.arithmetic(node, type(node.operator).__name__, left, right)

    def arithmetic(self, node: cst.CSTNode, operator: str, left: Value, right: Value) -> Value:
        """The value of `left operator right`."""
        a, b = number(left), number(right)
        if a is not None and b is not None:
            return self.calculate(operator, a, b)
        if isinstance(left, Seq) and isinstance(right, Seq) and operator == "Add":
            one, two = self.store.get(left, "[]"), self.store.get(right, "[]")
            if one is not None and two is not None:
                return self.sequence(left.kind, [*one.known, *two.known], node, one.open or two.open, one.of_known_kinds and two.of_known_kinds)
        if operator == "Multiply" and isinstance(left, Seq) and self.known_items(left):
            for item in self.known_items(left):
                self.emit("repeat", item, node, count=b)
            return self.sequence(left.kind, list(self.known_items(left)), node, True)
        sides = (left, right)
        flows, parts = union_of(s.flows for s in sides), union_of(
            with_parts(s).union(alternatives(s)) for s in sides if isinstance(s, (Opaque, Union))
        )
        tensors = [alt for side in sides for alt in alternatives(side) if isinstance(alt, Tensor)]
        if tensors:
            self.emit_mix(node, sides)
            traits, sites = {}, {}
            graphs = [t.traits.get("graph") for t in tensors]
            in_place = type(node) is cst.AugAssign and any(
                isinstance(alt, Tensor) and alt.traits.get("graph") is not False for alt in alternatives(left)
            )
            if not in_place and self.grad_state()[0] is False:
                traits["graph"] = False
            elif any(graph is True for graph in graphs):
                traits["graph"] = True
                sites.update({k: t.sites[k] for t in tensors for k in ("graph",) if k in t.sites})
            elif all(graph is False for graph in graphs) and all(
                isinstance(alt, (Tensor, Const)) or isinstance(alt, Opaque) and not alt.flows
                for side in sides for alt in alternatives(side)
            ):
                traits["graph"] = False
            small = operator in ("Add", "Subtract") and (b is not None and abs(b) < 1e-2)
            if small and isinstance(left, Tensor) and left.traits.get("act"):
                traits["act"], sites["act"] = left.traits["act"], left.sites.get("act")
            if operator == "Divide" and _is_softmax(self.site(node), left, right):
                traits["act"], sites["act"] = "softmax", self.site(node)
            devices = {t.traits.get("device") for t in tensors if not t.traits.get("dim0")}
            ranks = [t.traits.get("rank", 0) for t in tensors if t in sides]
            if ranks and all(ranks) and (operator != "MatrixMultiply" or len(ranks) == 2):
                traits["rank"] = max(ranks)
            numbers = sum(isinstance(s, Const) or isinstance(s, Opaque) and "number" in s.tags for s in sides)
            if len(devices) == 1 and None not in devices and len(tensors) + numbers == 2:
                traits["device"] = devices.pop()
                self.still_made(tensors, traits, sites)
            if all(self._has_no_dimension(alt) for side in sides for alt in alternatives(side)):
                traits["number"] = True
            made = self.lies_beside(Tensor("", "op", self.site(node), flows, parts, None, traits, sites), sides)
            return self.arithmetic_shape(operator, left, right, made, node)
        tags = OF_A_GPU if operator in ("Add", "Modulo") and says_cuda(left) else of_numpys(operator, left, right)
        return self.noted_arithmetic(operator, left, right, Opaque("", "op", self.site(node), flows, parts, None, tags))

    def _has_no_dimension(self, value: Value) -> bool:
        if isinstance(value, Tensor):
            return self.is_number(value)
        plain = type(value) is Opaque and "number" in value.tags and "numbers" not in value.tags
        return plain or number(value) is not None

    def calculate(self, operator: str, a, b) -> Value:
        try:
            if operator == "Add":
                return Const(a + b)
            if operator == "Subtract":
                return Const(a - b)
            if operator == "Multiply" and abs(a) < 1e9 and abs(b) < 1e9:
                return Const(a * b)
            if operator == "Divide":
                return Const(a / b)
            if operator == "FloorDivide":
                return Const(a // b)
            if operator == "Modulo":
                return Const(a % b)
        except (ArithmeticError, TypeError):
            pass
        return Opaque("", "op", tags=frozenset({"number"}))

    def eval_unary(self, node: cst.UnaryOperation) -> Value:
        value = self.eval(node.expression)
        if type(node.operator) is cst.Not:
            known = boolean(value) if isinstance(value, Const) and isinstance(value.value, (bool, type(None), str)) else None
            if known is None and type(value) is Opaque:
                known = boolean(self.store.get(value, " truth"))
            return Opaque("", "op") if known is None else Const(not known)
        n = number(value)
        if type(node.operator) is cst.Minus:
            if n is not None:
                return Const(-n)
        if isinstance(value, Tensor):
            return self.with_shape(value.with_(act=None), self.shape_of(value), value.sites.get("shape"))
        return Opaque("", "op", self.site(node), value.flows, value.parts) if isinstance(value, (Opaque, Union)) else value

    def eval_comparison(self, node: cst.Comparison) -> Value:
        left = self.eval(node.left)
        result: Value = Opaque("", "op", tags=frozenset({"bool"}))
        before = node.left
        for part in node.comparisons:
            right = self.eval(part.comparator)
            operator = type(part.operator)
            if _is_nan(before, left) or _is_nan(part.comparator, right):
                self.emit("compare.nan", None, node, operator=operator.__name__, left=before, right=part.comparator)
            before = part.comparator
            if len(node.comparisons) == 1:
                if operator in (cst.Is, cst.IsNot) and isinstance(right, Const) and right.value is None:
                    nothing = self.is_none(left, self.is_filled_in(node.left))
                    if nothing is not None and not (operator is cst.IsNot and _is_gradient(left)):
                        return Const(nothing == (operator is cst.Is))
                if operator in (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual) and same_class(left, right):
                    return Const(operator in (cst.Is, cst.Equal))
                if operator in (cst.Equal, cst.NotEqual) and _is_text(right) and isinstance(left, Const) and self.is_none(left):
                    return Const(operator is cst.NotEqual)  # `norm=None`, and then `norm == "batch"`
                if operator in (cst.Equal, cst.NotEqual) or operator in (cst.Is, cst.IsNot) and isinstance(right, Member):
                    same = _same_constant(left, right)
                    if same is not None:
                        return Const(same == (operator in (cst.Is, cst.Equal)))
                if operator in (cst.In, cst.NotIn):
                    inside = _is_among(left, self.items_of(right))
                    if inside is not None:
                        return Const(inside == (operator is cst.In))
                if operator in (cst.Equal, cst.NotEqual) and isinstance(right, Const) and type(right.value) is int:
                    given = self._how_many_given(node.left)
                    if given is not None:
                        return Const((given == right.value) == (operator is cst.Equal))
                if operator in (cst.Is, cst.IsNot) and isinstance(left, Const) and isinstance(right, Const):
                    if isinstance(right.value, bool) and isinstance(left.value, bool):
                        return Const((left.value is right.value) == (operator is cst.Is))
            for side in (left, right):
                if side.flows:
                    self.emit("readout", side, node, name="comparison")
            if isinstance(left, Tensor) or isinstance(right, Tensor):
                if operator in (cst.Equal, cst.NotEqual, cst.LessThan, cst.GreaterThan, cst.LessThanEqual, cst.GreaterThanEqual):
                    self.emit_mix(node, (left, right))
                    result = Tensor("", "op", self.site(node), NOTHING, NOTHING, None, {"graph": False})
                    compared = next((side for side in (left, right) if side.flows), None)
                    if compared is not None:
                        result.traits["cut_of"] = compared
                    else:
                        result.traits["compared"] = next(side for side in (left, right) if isinstance(side, Tensor))
                    result = self.arithmetic_shape(operator.__name__, left, right, result, node)
            elif operator not in (cst.Is, cst.IsNot, cst.In, cst.NotIn) and (of_numpy := of_numpys(operator.__name__, left, right)):
                result = Opaque("", "op", tags=of_numpy | {"bool"})
            left = right
        return result

    def _how_many_given(self, node: cst.BaseExpression) -> int | None:
        """What `len(args)` is, where `args` is a tuple and all that is in it is known: how many a call has given to `*args`."""
        if type(node) is not cst.Call or type(node.func) is not cst.Name or node.func.value != "len" or len(node.args) != 1:
            return None
        value = self.peek(node.args[0].value)
        written = not isinstance(value, Seq) or value.kind != "tuple" or value.site is not None  # which a loop may make longer
        items = self.store.get(value, "[]") if not written else None
        return len(items.known) if items is not None and not items.open else None

    def eval_boolean(self, node: cst.BooleanOperation) -> Value:
        left = self.eval(node.left)
        is_and = type(node.operator) is cst.And
        known = self.certain_truth(left)
        if known is not None:
            if known != is_and:
                return left
            return self.eval(node.right)
        right_value: list[Value] = []
        self.branch((lambda: right_value.append(self.eval(node.right)), lambda: None))
        right = right_value[0]
        if is_and and self.certain_truth(right) is False:
            return FALSE
        return join(left, right) if not isinstance(left, Opaque) or not is_and else Opaque("", "op", None, right.flows, right.parts)

    def certain_truth(self, value: Value) -> bool | None:
        if isinstance(value, Const) and isinstance(value.value, (bool, str, type(None))):
            return bool(value.value)
        if isinstance(value, (Func, Class)) or isinstance(value, Instance) and value.kind in ("optimizer", "scheduler", "scaler"):
            return True
        if type(value) is Opaque:
            return boolean(self.store.get(value, " truth"))
        return None

    def eval_choice(self, node: cst.IfExp) -> Value:
        known = self.truth(node.test)
        if known is None and self.guards:
            known = self.settled(*self.both_sides(node.test))
        if known is not None:
            return self.eval(node.body if known else node.orelse)
        found: list[Value] = []

        def path(part, holds):
            guards = self.guards_of(node.test, holds)

            def go():
                with self.guarded(guards):
                    self.narrow(node.test, holds)
                    found.append(self.eval(part))

            return go

        self.branch((path(node.body, True), path(node.orelse, False)))
        return join(found[0], found[1])
