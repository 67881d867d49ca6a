"""What an expression is worth, and what an assignment leaves behind."""

from __future__ import annotations

import ast as python_ast
import re
from functools import lru_cache

import libcst as cst

from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.tree import children
from torchlint.dryrun.values import (
    FALSE,
    NONE,
    NOTHING,
    TRUE,
    UNSET,
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Iter,
    Method,
    Opaque,
    ProjectModule,
    Ref,
    Seq,
    Super,
    Tensor,
    Union,
    Value,
    alternatives,
    boolean,
    join,
    number,
    real,
    same_class,
    union_of,
    with_parts,
)

GRAD_FLAG = re.compile(r"^requi[a-z]*_?grad[a-z]*_?$", re.IGNORECASE)  # requires_grad, and what is meant to be it
MODE = " mode"  # store keys that no program can write: (module, MODE) is True in training, False in evaluation


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


_NANS = frozenset({"torch.nan", "numpy.nan", "numpy.NaN", "numpy.NAN", "math.nan"})


def _is_nan(node: cst.BaseExpression, value: Value) -> bool:
    """Whether an expression is not-a-number, written as such: torch.nan, float("nan")."""
    if isinstance(value, Ref):
        return value.name in _NANS
    named = isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "float"
    if not named or len(node.args) != 1:
        return False
    given = node.args[0].value
    return isinstance(given, cst.SimpleString) and given.value.strip("\"'").lower() == "nan"


class Expressions:
    """The part of a run that evaluates expressions. See `interpreter.Run` for the state it works on."""

    def eval(self, node: cst.BaseExpression) -> Value:
        """The value of an expression, with the events that computing it makes."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise self.TooMuch
        method = _EXPRESSIONS.get(type(node))
        return method(self, node) if method is not None else self.eval_parts(node)

    def eval_parts(self, node: cst.CSTNode) -> Value:
        """An expression of no special meaning: its parts are run, its value is not known."""
        for child in children(node):
            if isinstance(child, cst.BaseExpression):
                self.eval(child)
        return Opaque("", "op")

    def peek(self, node: cst.BaseExpression) -> Value | None:
        """The value of a name or attribute without any event."""
        if type(node) is cst.Name:
            return self.lookup(node.value)
        if type(node) is cst.Attribute:
            owner = self.peek(node.value)
            return self.store.get(owner, node.attr.value) if owner is not None else None
        return None

    # -- names ------------------------------------------------------------------------------------------------------

    def eval_name(self, node: cst.Name) -> Value:
        value = self.lookup(node.value)
        if value is None:
            value = Opaque(node.value, "global")
            self.base_store.set(self.frame.facts if self.frame else self, node.value, value)
        return value

    def lookup(self, name: str) -> Value | None:
        """What a name stands for here; None if nothing seen defines it."""
        if name == "True":
            return TRUE
        if name == "False":
            return FALSE
        if name == "None":
            return NONE
        frame = self.frame
        while frame is not None:
            if frame.func is not None and name not in frame.globals:
                found = self.store.get(frame, name)
                if found is not None:
                    return found
            frame = frame.outer
        return self.global_value(name, self.frame.facts) if self.frame is not None else None

    def global_value(self, name: str, facts) -> Value | None:
        """A name at the top level of a file."""
        found = self.store.get(facts, name)
        if found is not None:
            return found
        found = self.exported(name, facts)
        if found is not None:
            self.base_store.set(facts, name, found)
        return found

    def exported(self, name: str, facts, depth: int = 0) -> Value | None:
        """What a file defines or imports under a name, without running it."""
        if name in facts.functions:
            return Func(name, facts, facts.functions[name])
        if name in facts.classes:
            return self.class_of(facts, facts.classes[name])
        if name in facts.imports:
            found = self.imported(facts.imports[name], facts, depth)
            for qualified in facts.instead.get(name, ()):
                if not isinstance(found, Opaque):
                    break
                found = self.imported(qualified, facts, depth)  # the last import has nothing to give here
            return found
        for star in facts.stars:
            path = self.world.resolve(star, facts.path)
            if path is not None and depth < 6:
                inner = self.world.facts(path)
                found = self.exported(name, inner, depth + 1) if inner is not None and inner is not facts else None
                if found is not None and not (isinstance(found, Opaque) and found.source == "global"):
                    return found
            elif path is None and star in ("torch.nn", "torch", "torch.nn.functional", "torch.optim", "torch.utils.data"):
                if name[:1].isupper() and star != "torch.nn.functional" or star == "torch.nn.functional" and name.islower():
                    return Ref(canonical(f"{star}.{name}"))
        late = self.base_store.get(facts, name)
        for item in facts.body:  # all of them, in order: the last one counts
            if not isinstance(item, str) and name in item.binds and id(item) not in self.ran:
                late = self.run_late(item, name, facts) or late
        return late

    def imported(self, qualified: str, facts, depth: int = 0) -> Value:
        """What an import brings: a file, something out of a file, or something outside the project."""
        if depth > 6:
            return Opaque(qualified, "global")
        path = self.world.resolve(qualified, facts.path)
        if path is not None:
            inner = self.world.facts(path)
            if inner is not None:
                return ProjectModule(qualified, inner)
            return Opaque(qualified, "global")
        base, _, name = qualified.rpartition(".")
        if base == "" and qualified.startswith("."):
            base, name = ".", qualified[1:]
        if base or qualified.startswith("."):
            path = self.world.resolve(base if base.strip(".") else base or ".", facts.path)
            if path is not None and path != facts.path:
                inner = self.world.facts(path)
                if inner is not None:
                    found = self.exported(name, inner, depth + 1)
                    if found is not None:
                        return found
                return Opaque(name, "global")
            if qualified.startswith("."):
                return Opaque(name, "global")
        if self.world.is_package(qualified, facts.path):
            return Opaque(qualified, "package")
        return Ref(canonical(qualified))

    def set_name(self, name: str, value: Value) -> None:
        frame = self.frame
        if name in frame.nonlocals:
            outer = frame.outer
            while outer is not None:
                if self.store.get(outer, name) is not None:
                    self.store.set(outer, name, value)
                    return
                outer = outer.outer
        if frame.func is None or name in frame.globals:
            self.store.set(frame.facts, name, value)
        else:
            self.store.set(frame, name, value)

    def dotted(self, node) -> str:
        """A dotted name as text."""
        parts = []
        while isinstance(node, cst.Attribute):
            parts.append(node.attr.value)
            node = node.value
        parts.append(node.value if isinstance(node, cst.Name) else "?")
        return ".".join(reversed(parts))

    # -- constants and containers -----------------------------------------------------------------------------------

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
            if isinstance(part, cst.FormattedStringExpression):
                self.eval(part.expression)
        return Opaque("", "op", tags=frozenset({"str"}))

    def eval_sequence(self, node) -> Value:
        kind = {cst.List: "list", cst.Tuple: "tuple", cst.Set: "set"}[type(node)]
        items, is_open = [], False
        for element in node.elements:
            if isinstance(element, cst.StarredElement):
                inner = self.items_of(self.eval(element.value))
                if inner is None:
                    is_open = True
                else:
                    items.extend(inner)
            else:
                items.append(self.eval(element.value))
        return self.sequence(kind, items, node, is_open)

    def sequence(self, kind: str, items: list[Value], node: cst.CSTNode | None, is_open: bool = False) -> Seq:
        seq = Seq(kind, self.site(node) if node is not None else None)
        seq.flows = union_of(item.flows for item in items)
        seq.parts = union_of(item.parts for item in items)
        self.store.set(seq, "[]", Items(tuple(items), is_open))
        self.made_in[id(seq)] = self.loops
        self.keep.append(seq)
        return seq

    def items_of(self, value: Value) -> tuple[Value, ...] | None:
        """The items of a list or tuple if they are all known."""
        if isinstance(value, Seq):
            items = self.store.get(value, "[]")
            if items is not None and not items.open:
                return items.known
        if isinstance(value, Instance) and value.type in CONTAINERS and value.kind == "module":
            items = self.store.get(value, "[]")
            if items is not None and not items.open:
                return items.known
        return None

    def known_items(self, value: Value) -> tuple[Value, ...]:
        """Those items of a container that are known, also where there may be more."""
        if isinstance(value, (Seq, Instance)):
            items = self.store.get(value, "[]")
            if items is not None:
                return items.known
        if isinstance(value, Dict) or isinstance(value, Instance):
            items = self.store.get(value, "{}")
            if items is not None:
                return tuple(items.known.values())
        return ()

    def eval_dict(self, node: cst.Dict) -> Value:
        known, is_open = {}, False
        for element in node.elements:
            if isinstance(element, cst.StarredDictElement):
                inner = self.eval(element.value)
                items = self.store.get(inner, "{}") if isinstance(inner, Dict) else None
                if items is None:
                    is_open = True
                else:
                    known.update(items.known)
                    is_open = is_open or items.open
                continue
            key, value = self.eval(element.key), self.eval(element.value)
            try:
                known[key.value if isinstance(key, Const) else f"*{len(known)}"] = value
            except TypeError:
                is_open = True
        return self.mapping(known, node, is_open)

    def mapping(self, known: dict, node: cst.CSTNode | None, is_open: bool = False) -> Dict:
        made = Dict(self.site(node) if node is not None else None)
        made.flows = union_of(item.flows for item in known.values())
        self.store.set(made, "{}", Items(known, is_open))
        return made

    def eval_comprehension(self, node) -> Value:
        results: list[Value] = []
        self.run_for_in(node, node.for_in, results)
        results = results[-1:]
        if isinstance(node, cst.ListComp) and isinstance(node.elt, cst.Name) and isinstance(results[0] if results else None, Instance):
            self.emit("repeat", results[0], node)
        if isinstance(node, cst.DictComp):
            return self.mapping({f"*{n}": value for n, value in enumerate(results)}, node, True)
        kind = {cst.ListComp: "list", cst.SetComp: "set"}.get(type(node), "generator")
        made = self.sequence("list" if kind == "generator" else kind, results, node, True)
        return Iter("generator", made, made.site, once=True) if kind == "generator" else made

    def run_for_in(self, node, part: cst.CompFor, results: list[Value]) -> None:
        """A `for` of a comprehension, with those behind it: what it gives is added to the results."""
        over = self.eval(part.iter)
        element_of = self.start_iteration(over, part)

        def step():
            self.assign(part.target, element_of(), quiet=True)
            for condition in part.ifs:
                self.eval(condition.test)
            if part.inner_for_in is not None:
                self.run_for_in(node, part.inner_for_in, results)
            elif isinstance(node, cst.DictComp):
                self.eval(node.key)
                results.append(self.eval(node.value))
            else:
                results.append(self.eval(node.elt))

        self.run_loop("comprehension", part, over, step)

    def eval_lambda(self, node: cst.Lambda) -> Value:
        func = Func("<lambda>", self.frame.facts)
        func.node, func.parsed, func.frame = node, self.parsed, self.frame
        self.frame.captured = True
        return func

    # -- operators --------------------------------------------------------------------------------------------------

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
                return self.sequence(left.kind, [*one.known, *two.known], node, one.open or two.open)
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
            if any(graph is True for graph in graphs):
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
            devices = {t.traits.get("device") for t in tensors if not t.traits.get("dim0")}
            ranks = [t.traits.get("rank", 0) for t in tensors if t in sides]
            if ranks and all(ranks) and (operator != "MatrixMultiply" or len(ranks) == 2):
                traits["rank"] = max(ranks)
            numbers = sum(isinstance(s, Const) or isinstance(s, Opaque) and "number" in s.tags for s in sides)
            if len(devices) == 1 and None not in devices and len(tensors) + numbers == 2:
                traits["device"] = devices.pop()
                self.still_made(tensors, traits, sites)
            made = Tensor("", "op", self.site(node), flows, parts, None, traits, sites)
            return self.arithmetic_shape(operator, left, right, made, node)
        return Opaque("", "op", self.site(node), flows, parts)

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
            return value.with_(act=None)
        return Opaque("", "op", self.site(node), value.flows, value.parts) if isinstance(value, (Opaque, Union)) else value

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
                    if isinstance(left, Const) and left is not UNSET:
                        return Const((left.value is None) == (operator is cst.Is))
                    if isinstance(left, (Instance, Seq, Dict, Func, Class, Tensor)):
                        return Const(operator is cst.IsNot)
                if operator in (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual) and same_class(left, right):
                    return Const(operator in (cst.Is, cst.Equal))
                if operator in (cst.Equal, cst.NotEqual) and isinstance(left, Const) and isinstance(right, Const):
                    if isinstance(left.value, (str, bool)) and isinstance(right.value, (str, bool)):
                        return Const((left.value == right.value) == (operator is cst.Equal))
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
                    result = self.arithmetic_shape(operator.__name__, left, right, result, node)
            left = right
        return result

    def eval_choice(self, node: cst.IfExp) -> Value:
        known = self.truth(node.test)
        if known is not None:
            return self.eval(node.body if known else node.orelse)
        found: list[Value] = []

        def path(part, holds):
            def go():
                self.narrow(node.test, holds)
                found.append(self.eval(part))

            return go

        self.branch((path(node.body, True), path(node.orelse, False)))
        return join(found[0], found[1])

    def eval_named(self, node: cst.NamedExpr) -> Value:
        value = self.eval(node.value)
        self.assign(node.target, value, quiet=True)
        return value

    def eval_await(self, node: cst.Await) -> Value:
        return self.eval(node.expression)

    def eval_yield(self, node: cst.Yield) -> Value:
        inner = node.value.item if isinstance(node.value, cst.From) else node.value
        value = self.eval(inner) if inner is not None else NONE
        if self.frame is not None:
            self.frame.yields.append(value)
        return Opaque("", "op")

    # -- attributes -------------------------------------------------------------------------------------------------

    def eval_attribute(self, node: cst.Attribute) -> Value:
        owner = self.eval(node.value)
        return self.attribute(owner, node.attr.value, node)

    def attribute(self, owner: Value, name: str, node: cst.CSTNode) -> Value:
        """The value of `owner.name`."""
        if isinstance(owner, Union):
            alts = [self.attribute(alt, name, node) for alt in real(owner)]
            if not alts:
                return Opaque(name, "attr")
            result = alts[0]
            for alt in alts[1:]:
                result = join(result, alt)
            return result
        found = self.store.get(owner, name)
        if found is not None and found is not UNSET:
            if found is NONE and isinstance(owner, Instance) and owner.site is None and isinstance(owner.cls, Class):
                return self.set_elsewhere(owner, name)
            return found
        if isinstance(owner, Ref):
            return Ref(canonical(f"{owner.name}.{name}"))
        if isinstance(owner, ProjectModule):
            value = self.global_value(name, owner.facts)
            if value is not None:
                return value
            path = self.world.resolve(f"{owner.name}.{name}", owner.facts.path) or self.world.resolve(f".{name}", owner.facts.path)
            inner = self.world.facts(path) if path else None
            return ProjectModule(f"{owner.name}.{name}", inner) if inner is not None else Opaque(name, "global")
        if isinstance(owner, Instance):
            return self.instance_attribute(owner, name, node)
        if isinstance(owner, Class):
            return self.class_attribute(owner, name) or Opaque(name, "attr")
        if isinstance(owner, Super):
            return Method(owner, name)
        if isinstance(owner, Tensor):
            return self.tensor_attribute(owner, name, node)
        if isinstance(owner, (Seq, Dict, Iter, Func, Const)):
            return Method(owner, name) if not isinstance(owner, (Func, Const)) else Opaque(name, "attr")
        value = Opaque(name, "attr", None, owner.flows, owner.parts, owner)
        if name == "data" and owner.flows:  # a model's output: the same numbers without the graph
            value = Tensor(name, "attr", None, owner.flows, NOTHING, owner, {"graph": False})
        elif name in ("data", "grad", "shape"):
            value = Opaque(name, "attr", None, NOTHING, NOTHING, owner)
        self.base_store.set(owner, name, value)
        return value

    def instance_attribute(self, owner: Instance, name: str, node: cst.CSTNode) -> Value:
        if isinstance(owner.cls, Class):
            found = owner.cls.method(name)
            if found is not None:
                cls, unit = found
                func = Func(name, cls.facts, unit, cls)
                if any(d.rsplit(".", 1)[-1] in ("property", "cached_property") for d in unit.decorators):
                    return self.inline(func, [owner], {}, node, owner)
                return Method(owner, name, func)
            value = self.class_attribute(owner.cls, name)
            if value is not None:
                return value
        if name == "training" and owner.kind in ("module", "loss", "wrapper"):
            mode = self.mode_of(owner)
            return Opaque("training", "attr") if mode is None else Const(mode)
        if name == "__class__":
            return owner.cls
        if owner.kind == "wrapper" and name == "module" and owner.args:
            return owner.args[0]
        if isinstance(owner.cls, Class):
            value = self.late_attribute(owner, name)
            if value is not None:
                return value
        if owner.kind in ("module", "loss") and name in ("weight", "bias"):
            value = Tensor(name, "attr", None, NOTHING, NOTHING, owner, {"graph": True, "leaf": True, "param": True})
            self.base_store.set(owner, name, value)
            return value
        if owner.kind == "loader" and name in ("dataset", "sampler", "batch_sampler"):
            value = owner.arg({"dataset": 0, "sampler": 3, "batch_sampler": 4}[name], name)
            if value is not None:
                return value
        if name in MODULE_METHODS or owner.kind not in ("module", "instance", "wrapper", "loss", "accelerator"):
            return Method(owner, name)
        tags = frozenset({"module?"}) if owner.kind == "module" and not isinstance(owner.cls, Class) else NOTHING
        value = Opaque(name, "attr", None, NOTHING, NOTHING, owner, tags)
        self.base_store.set(owner, name, value)
        return value

    def tensor_attribute(self, owner: Tensor, name: str, node: cst.CSTNode) -> Value:
        if name == "data":
            return owner.with_(self.site(node), graph=False, leaf=None, alias=owner)
        if name in ("T", "mT", "H"):
            return owner.with_(self.site(node), layout="transposed")
        if name in ("shape", "device", "dtype", "ndim", "is_cuda", "requires_grad", "grad_fn", "layout"):
            value = Opaque(name, "attr", None, NOTHING, NOTHING, owner)
        elif name == "grad":
            value = Tensor("grad", "attr", None, NOTHING, frozenset({owner}), owner, {"graph": False, "grad_of": owner})
        else:
            return Opaque(name, "attr", None, owner.flows, owner.parts, owner)
        self.base_store.set(owner, name, value)
        return value

    # -- subscripts ---------------------------------------------------------------------------------------------------

    def eval_subscript(self, node: cst.Subscript) -> Value:
        owner = self.eval(node.value)
        keys = []
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                keys.append(self.eval(element.slice.value))
            else:
                for part in (element.slice.lower, element.slice.upper, element.slice.step):
                    if part is not None:
                        self.eval(part)
                keys.append(None)
        alts = real(owner)
        if len(alts) == 1:
            self.last_of(alts[0], keys, node)
        found = [self.item(alt, keys, node) for alt in alts]
        if not found:
            return Opaque("", "item")
        result = found[0]
        for alt in found[1:]:
            result = join(result, alt)
        return result

    def item(self, owner: Value, keys: list[Value | None], node: cst.CSTNode) -> Value:
        key = keys[0] if len(keys) == 1 else None
        if isinstance(owner, (Seq, Instance)):
            items = self.store.get(owner, "[]")
            if items is not None:
                n = number(key)
                if isinstance(n, int) and not items.open and -len(items.known) <= n < len(items.known):
                    return items.known[n]
                if key is None and isinstance(owner, Seq):
                    return self.sequence(owner.kind, list(items.known), node, True)
                if items.known and not items.open:
                    result = items.known[0]
                    for alt in items.known[1:]:
                        result = join(result, alt)
                    return result
        if isinstance(owner, (Dict, Instance)):
            items = self.store.get(owner, "{}")
            if items is not None and isinstance(key, Const):
                try:
                    if key.value in items.known:
                        return items.known[key.value]
                except TypeError:
                    pass
        if isinstance(owner, Tensor):
            whole = all(k is None or isinstance(k, Const) and k.value is None for k in keys)
            part = owner.with_(None, layout=None) if whole else owner.with_(None, layout=None, maybe0=True)
            return self.item_shape(owner, keys, part)
        if isinstance(owner, Opaque):
            if isinstance(key, Const) and isinstance(key.value, (str, int)):
                name = f"[{key.value!r}]"
                found = self.store.get(owner, name)
                if found is None:
                    found = Opaque(str(key.value), "item", None, owner.flows, owner.parts, owner, owner.tags & BATCHY)
                    self.base_store.set(owner, name, found)
                return found
            return Opaque("", "item", None, owner.flows, owner.parts, owner, owner.tags & BATCHY)
        return Opaque("", "item", None, owner.flows, owner.parts, owner)

    # -- iteration ----------------------------------------------------------------------------------------------------

    def start_iteration(self, over: Value, node: cst.CSTNode):
        """Tells that a pass over a value starts; gives what each element is worth."""
        core = self.iterated(over)
        self.consume(over, node)
        for alt in real(core):
            if isinstance(alt, Instance) and alt.kind == "loader" or isinstance(alt, Opaque):
                self.emit("loader.iterate", alt, node.iter, over=alt)
        return lambda: self.element(over)

    def iterated(self, over: Value) -> Value:
        """What enumerate(...), tqdm(...) and their like go over in the end."""
        while isinstance(over, Iter) and over.kind in ("enumerate", "same"):
            over = over.base
        return over

    def element(self, over: Value) -> Value:
        """One element of an iterable."""
        alts = real(over)
        if len(alts) > 1:
            result = self.element(alts[0])
            for alt in alts[1:]:
                result = join(result, self.element(alt))
            return result
        if alts:
            over = alts[0]
        if isinstance(over, Iter):
            return self.iter_element(over)
        if isinstance(over, Seq) or isinstance(over, Instance) and over.type in CONTAINERS:
            items = self.known_items(over)
            if items and len(items) <= 4:
                result = items[0]
                for alt in items[1:]:
                    result = join(result, alt)
                return result
            if items and all(isinstance(item, Const) for item in items):
                return Opaque("", "item")
            return Opaque("", "item", None, over.flows, NOTHING, over)
        if isinstance(over, Instance) and over.kind == "loader":
            batch = Opaque("batch", "item", None, NOTHING, NOTHING, over, frozenset({"batch"}))
            sizes = self.batch_of(over)
            if sizes is None:
                return batch
            parts = [Opaque("", "item", None, NOTHING, NOTHING, batch, batch.tags) for _ in sizes]
            for part, shape in zip(parts, sizes):
                self.note_shape(part, shape)
            return self.sequence("list", parts, None)
        if isinstance(over, Tensor):
            return over.with_(None, maybe0=True)
        flows = over.flows
        return Opaque("", "item", None, flows, over.parts, over, frozenset({"batch?"}))

    def iter_element(self, over: Iter) -> Value:
        if over.kind == "enumerate":
            return self.sequence("tuple", [Opaque("", "op", tags=frozenset({"number"})), self.element(over.base)], None)
        if over.kind in ("same", "generator", "values"):
            return self.element(over.base) if over.kind != "values" else self._any_item(over.base)
        if over.kind == "zip":
            return self.sequence("tuple", [self.element(item) for item in self.known_items(over.base)], None)
        if over.kind == "items":
            return self.sequence("tuple", [Opaque("", "item", tags=frozenset({"str"})), self._any_item(over.base)], None)
        if over.kind in ("parameters", "named_parameters"):
            traits = {"graph": True, "leaf": True, "param": True}
            value: Value = Tensor("", "item", None, NOTHING, NOTHING, over, traits)
        elif over.kind in ("modules", "children", "named_modules", "named_children"):
            value = Opaque("", "item", None, NOTHING, NOTHING, over, frozenset({"module"}))
        else:
            value = Opaque("", "item", None, over.flows, NOTHING, over)
        if over.kind.startswith("named_"):
            return self.sequence("tuple", [Opaque("", "item", tags=frozenset({"str"})), value], None)
        return value

    def _any_item(self, over: Value) -> Value:
        items = self.known_items(over)
        if not items:
            return Opaque("", "item", None, over.flows, over.parts, over, frozenset({"batch?"}))
        result = items[0]
        for alt in items[1:]:
            result = join(result, alt)
        return result

    def consume(self, over: Value, node: cst.CSTNode) -> None:
        """Notes that a generator is used up by this, if it is that one for certain."""
        alts = real(over)
        for alt in alts if len(alts) == 1 else ():
            inner = alt
            while isinstance(inner, Iter) and inner.kind in ("enumerate", "same", "zip") and not inner.once:
                inner = inner.base
            if isinstance(inner, Iter) and inner.once:
                self.emit("consume", inner, node.iter if hasattr(node, "iter") else node)

    # -- assignment ---------------------------------------------------------------------------------------------------

    def assign(self, target, value: Value, node: cst.CSTNode | None = None, quiet: bool = False) -> None:
        """Binds a target: a name, attribute, item or a tuple of them."""
        kind = type(target)
        if type(value) in (Instance, Iter) and not value.name and kind in (cst.Name, cst.Attribute):
            value.name = self.dotted(target)
        if kind is cst.Name:
            if not quiet:
                self.emit_assign(target, value, node)
            if type(value) in (Opaque, Tensor) and not value.name:
                value.name = target.value
            self.set_name(target.value, value)
        elif kind is cst.Attribute:
            owner = self.eval(target.value)
            if not quiet:
                self.emit_assign(target, value, node)
            self.set_attribute(owner, target.attr.value, value, node or target)
        elif kind in (cst.Tuple, cst.List):
            self.unpack(target, value, node, quiet or node is None)
        elif kind is cst.Subscript:
            self.set_item(target, value, node or target)
        elif kind is cst.StarredElement:
            self.assign(target.value, Opaque("", "item", None, value.flows, value.parts, value), quiet=True)

    def unpack(self, target, value: Value, node: cst.CSTNode | None = None, quiet: bool = True) -> None:
        elements = [element for element in target.elements]
        starred = any(isinstance(e, cst.StarredElement) for e in elements)
        for alt in real(value):
            items = self.items_of(alt)
            if items is not None and len(items) == len(elements) and not starred and len(real(value)) == 1:
                for element, item in zip(elements, items):
                    self.assign(element.value, item, node, quiet)
                return
        columns: list[Value | None] = [None] * len(elements)
        alts = real(value)
        for alt in alts:
            items = self.items_of(alt)
            for n, element in enumerate(elements):
                if items is not None and len(items) == len(elements):
                    piece: Value = items[n]
                elif isinstance(alt, Tensor):
                    piece = alt.with_(None, maybe0=True)
                else:
                    tags = alt.tags & BATCHY if isinstance(alt, Opaque) else NOTHING
                    piece = Opaque("", "item", None, alt.flows, alt.parts, alt, tags)
                    if type(alt) is Opaque and alt.name in ("shape", "size") and not starred:
                        self.note_dimension(piece, n, len(elements))
                    self.note_column(piece, alt, n)
                columns[n] = piece if columns[n] is None else join(columns[n], piece)
        for element, piece in zip(elements, columns):
            if isinstance(element, cst.StarredElement):
                self.assign(element.value, Opaque("", "item", None, value.flows, value.parts, value), quiet=True)
            else:
                self.assign(element.value, piece if piece is not None else Opaque("", "item"), quiet=True)

    def set_attribute(self, owner: Value, name: str, value: Value, node: cst.CSTNode) -> None:
        alts = real(owner)
        for alt in alts:
            if GRAD_FLAG.search(name):
                self.emit("flag.set", alt, node, name=name, value=value)
            if isinstance(alt, Tensor) and name == "requires_grad" and boolean(value) is True:
                self.emit("leaf.set", alt, node)
            if isinstance(alt, Tensor) and name == "requires_grad":
                wants = value.value if isinstance(value, Const) and isinstance(value.value, bool) else None
                target = node.targets[0].target if isinstance(node, cst.Assign) else None
                self.switch_grad(alt, wants, node, target.value if isinstance(target, cst.Attribute) else None)
            elif isinstance(alt, Tensor) and name == "grad":
                self.emit("grad.set", alt, node, value=value)
            elif isinstance(alt, Opaque) and name == "grad":
                self.emit("grad.set", alt, node, value=value)
            if isinstance(alt, Ref):
                self.emit("setting", alt, node, name=f"{alt.name}.{name}", value=value)
            kept = value
            if isinstance(alt, Instance):
                self.emit("setattr", alt, node, name=name, value=value, old=self.store.get(alt, name))
                if alt.kind in ("module", "wrapper", "loss"):
                    self.keep_on(alt, name, value)
                    kept = self.kept_as_buffer(alt, name, value)
            if len(alts) == 1:
                if type(kept) in (Opaque, Tensor) and not kept.name:
                    kept.name = name
                self.put_into(alt, kept)
                self.store.set(alt, name, kept)
            else:
                old = self.store.get(alt, name)
                self.store.set(alt, name, join(old, kept) if old is not None else kept)

    def kept_as_buffer(self, owner: Instance, name: str, value: Value) -> Value:
        """What a module holds of a value that is assigned to it: what has the name of a buffer is one. Behind a move it
        stays where it was made."""
        if isinstance(value, Tensor) and value.traits.get("buffer"):
            self.buffers.add((id(owner), name))
            self.keep.append(owner)
        if (id(owner), name) not in self.buffers or self.store.get(owner, " moved") is TRUE:
            return value
        return self.placed_by_module(value, name)

    def put_into(self, place: Value, value: Value) -> None:
        """Notes that what is put into a part of a module is in the module: `model.classifier[1] = nn.Linear(...)`."""
        whole = place
        while isinstance(whole, Opaque) and whole.source in ("attr", "item") and whole.origin is not None:
            whole = whole.origin
        if whole is not place and isinstance(whole, Instance) and whole.kind in ("module", "wrapper"):
            for alt in real(value):
                if isinstance(alt, Instance) and alt.kind in ("module", "wrapper"):
                    self.adopt(whole, alt)

    def register(self, value: Value) -> None:
        """Notes that a module owns a value (and what is in it) from now on."""
        for alt in real(value):
            if isinstance(alt, (Instance, Tensor)):
                self.registered.add(id(alt))
                self.keep.append(alt)

    def set_item(self, target: cst.Subscript, value: Value, node: cst.CSTNode) -> None:
        owner = self.eval(target.value)
        if "[]=" in self.watched_calls:
            self.emit("item.set", owner, node, target=target, value=value)
        key = None
        for element in target.slice:
            if isinstance(element.slice, cst.Index):
                found = self.eval(element.slice.value)
                key = found if len(target.slice) == 1 else None
        for alt in real(owner):
            if isinstance(alt, (Seq, Dict)):
                self.gather(alt, value)
            if isinstance(alt, Dict) or isinstance(alt, Instance) and alt.type == "torch.nn.ModuleDict":
                items = self.store.get(alt, "{}") or Items({}, True)
                known = dict(items.known)
                try:
                    known[key.value if isinstance(key, Const) else f"*{len(known)}"] = value
                except TypeError:
                    pass
                self.store.set(alt, "{}", Items(known, items.open or not isinstance(key, Const)))
                if isinstance(alt, Instance):
                    self.register(value)
            elif isinstance(alt, Seq):
                items = self.store.get(alt, "[]") or Items((), True)
                n = number(key)
                if isinstance(n, int) and 0 <= n < len(items.known):
                    known_items = (*items.known[:n], value, *items.known[n + 1 :])
                    self.store.set(alt, "[]", Items(known_items, items.open))
                else:
                    self.store.set(alt, "[]", Items((*items.known, value)[-8:], True))
            elif isinstance(alt, Opaque):
                self.put_into(alt, value)
                if isinstance(key, Const) and isinstance(key.value, (str, int)):
                    self.store.set(alt, f"[{key.value!r}]", value)
            if isinstance(alt, Ref) and isinstance(key, Const):
                self.emit("setting", alt, node, name=f"{alt.name}[{key.value}]", value=value)
            if isinstance(alt, Tensor):
                self.emit("inplace", alt, node, method="[]=", value=value)
                graphs = {new.traits.get("graph") if isinstance(new, Tensor) else True for new in real(value)}
                if value.flows and graphs != {False}:
                    changed = alt.with_(None, graph=True if graphs == {True} else None)
                    changed.flows = union_of((alt.flows, value.flows))
                    if type(target.value) is cst.Name:
                        self.set_name(target.value.value, changed)

    def augment(self, node: cst.AugAssign) -> None:
        target = node.target
        old = self.eval(target) if type(target) is not cst.Subscript else self.eval_subscript(target)
        value = self.eval(node.value)
        operator = type(node.operator).__name__.replace("Assign", "")
        self.emit("augment", old, node, operator=operator, value=value, target=target)
        for alt in real(old):
            if isinstance(alt, Seq) and operator == "Add":
                self.gather(alt, value)
                extra = self.known_items(value) if isinstance(value, Seq) else ()
                items = self.store.get(alt, "[]") or Items((), True)
                more = self.store.get(value, "[]") if isinstance(value, Seq) else None
                self.store.set(alt, "[]", Items((*items.known, *extra), items.open or more is None or more.open))
                return
        result = self.arithmetic(node, operator, old, value)
        if type(result) in (Opaque, Tensor):
            result.name = self.dotted(target).rsplit(".", 1)[-1]
        if type(target) is cst.Subscript:
            self.set_item(target, result, node)
        else:
            self.assign(target, result, quiet=True)


CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.ParameterList",
                        "torch.nn.ParameterDict"})
BATCHY = frozenset({"batch", "batch?"})
MODULE_METHODS = frozenset(
    """train eval parameters named_parameters modules named_modules children named_children state_dict load_state_dict to cuda cpu
    half float double zero_grad requires_grad_ apply add_module register_module register_buffer register_parameter
    register_forward_hook forward buffers named_buffers append extend insert keys values items get_submodule compile
    share_memory to_empty bfloat16 type no_sync register_forward_pre_hook register_full_backward_hook set_epoch
    get_parameter extra_repr""".split()
)

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

