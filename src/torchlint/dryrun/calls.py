"""What calling something does: functions and classes of the project are run where they are called; torch's are looked up."""

from __future__ import annotations

import functools
import re
from contextlib import contextmanager

import libcst as cst

from torchlint.dryrun.store import Items, Store
from torchlint.dryrun.torch_api.calls import TorchCalls
from torchlint.dryrun.torch_api.names import base_kind, canonical
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    TRUE,
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Iter,
    Method,
    Opaque,
    Partial,
    ProjectModule,
    Ref,
    Seq,
    Super,
    Tensor,
    Union,
    Value,
    alternatives,
    join,
    real,
    union_of,
    with_parts,
)
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit
from torchlint.sieve.nodes import BUILTINS

DECLARED = {"Module": "module", "Optimizer": "optimizer", "DataLoader": "loader", "GradScaler": "scaler"}
HARMLESS_DECORATORS = frozenset(
    """staticmethod classmethod property cached_property abstractmethod wraps lru_cache cache dataclass overload override
    contextmanager jit.script jit.export jit.ignore jit.unused torch.jit.script torch.jit.export torch.jit.ignore
    torch.jit.unused hydra.main click.command click.option click.argument record typing.overload abc.abstractmethod
    functools.wraps functools.lru_cache functools.cached_property torch.compile torch.compiler.disable""".split()
)


def declared_type(annotation: str) -> str:
    """The class that an annotation names, without its package and what it is generic over; "" where it names several."""
    text = re.sub(r"\s", "", annotation).strip("\"'")
    match = re.fullmatch(r"(?:[\w.]*\.)?(\w+)(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\])?", text)
    return match[1] if match else ""


class Calls(TorchCalls):
    """The part of a run that evaluates calls. See `interpreter.Run` for the state it works on."""

    def eval_call(self, node: cst.Call) -> Value:
        """The value of a call, with all that it does."""
        func = node.func
        owner: Value | None = None
        if type(func) is cst.Attribute:
            owner = self.eval(func.value)
            args, kwargs = self.arguments(node)
            if f".{func.attr.value}" in self.watched_calls and not isinstance(owner, (Ref, ProjectModule)):
                name = func.attr.value
                self.emit("method", owner, node, name=name, args=args, kwargs=kwargs, in_forward=self.in_forward())
            alts = real(owner)
            if func.attr.value in ("train", "eval") and all(isinstance(alt, Opaque) or getattr(alt, "kind", "") in ("module", "wrapper") for alt in alts):
                # Whichever of them it is: the name goes on standing for the same one, and that one is in the mode.
                results = [self.call_method(alt, func.attr.value, args, kwargs, node) for alt in alts]
                result = functools.reduce(join, results) if results else Opaque("", "call")
            else:
                result = self.each(alts, lambda alt: self.call_method(alt, func.attr.value, args, kwargs, node))
            self.last_call = (owner, func.attr.value, args)
            return result
        if type(func) is cst.Name and func.value == "super":
            self.eval_arguments_only(node)
            frame = self.frame
            while frame is not None and frame.home is None:
                frame = frame.outer
            if frame is not None and frame.self_value is not None:
                return Super(frame.self_value, frame.home)
            return Opaque("super", "call")
        callee = self.eval(func)
        args, kwargs = self.arguments(node)
        result = self.each(real(callee), lambda alt: self.call_value(alt, args, kwargs, node))
        self.last_call = (None, func.value if type(func) is cst.Name else "", args)
        return result

    def each(self, alts: tuple[Value, ...], call) -> Value:
        """Calls each of several alternatives on a path of its own."""
        if not alts:
            return Opaque("", "call")
        if len(alts) == 1:
            return call(alts[0])
        results: list[Value] = []
        self.unsure += 1
        self.branch([(lambda alt=alt: results.append(call(alt))) for alt in alts])
        self.unsure -= 1
        result = results[0]
        for other in results[1:]:
            result = join(result, other)
        return result

    def arguments(self, node: cst.Call) -> tuple[list[Value], dict[str, Value]]:
        """Positional and keyword arguments; "*" and "**" stand in the keywords where more may have been given."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        for arg in node.args:
            value = self.eval(arg.value)
            if arg.star == "*":
                items = self.items_of(value)
                if items is None:
                    kwargs["*"] = value
                else:
                    args.extend(items)
            elif arg.star == "**":
                items = self.store.get(value, "{}") if isinstance(value, Dict) else None
                if items is None or items.open:
                    kwargs["**"] = value
                if items is not None:
                    kwargs.update({key: item for key, item in items.known.items() if isinstance(key, str) and key[:1] != "*"})
            elif arg.keyword is not None:
                kwargs[arg.keyword.value] = value
            else:
                args.append(value)
        return args, kwargs

    def eval_arguments_only(self, node: cst.Call) -> None:
        for arg in node.args:
            self.eval(arg.value)

    def call_value(self, callee: Value, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode) -> Value:
        """Calls a value."""
        if isinstance(callee, Func):
            return self.inline(callee, args, kwargs, node)
        if isinstance(callee, Class):
            return self.instantiate(callee, args, kwargs, node)
        if isinstance(callee, Ref):
            return self.call_ref(callee, args, kwargs, node)
        if isinstance(callee, Method):
            return self.call_method(callee.owner, callee.name, args, kwargs, node)
        if isinstance(callee, Partial):
            return self.call_value(callee.func, [*callee.args, *args], {**callee.kwargs, **kwargs}, node)
        if isinstance(callee, Instance):
            if callee.kind in ("module", "loss", "wrapper"):
                return self.call_module(callee, args, kwargs, node)
            if isinstance(callee.cls, Class):
                found = callee.cls.method("__call__")
                if found is not None:
                    return self.inline(Func("__call__", found[0].facts, found[1], found[0]), [callee, *args], kwargs, node, callee)
        if isinstance(callee, Opaque):
            if callee.source in ("global", "package"):
                builtin = getattr(self, "builtin_" + callee.name, None)
                if builtin is not None and callee.origin is None:
                    return builtin(args, kwargs, node)
                if callee.name in BUILTINS and callee.origin is None:
                    return self._result([*args, *kwargs.values()])
            return self.call_opaque(callee, args, kwargs, node)
        return self.unknown_call("", args, kwargs, node)

    def unknown_call(self, name: str, args, kwargs, node, owner: Value | None = None) -> Value:
        """A call of something that cannot be seen: it may do anything to what it is given."""
        given = [*args, *kwargs.values()]
        for value in given:
            for alt in real(value):
                if isinstance(alt, (Seq, Dict)):
                    self.escaped.add(id(alt))
                    self.keep.append(alt)
                    for item in self.known_items(alt):
                        self.escaped.add(id(item))
                        self.keep.append(item)
                elif isinstance(alt, (Instance, Tensor)):
                    self.escaped.add(id(alt))
                    self.keep.append(alt)
        self.emit("unknown", owner, node, name=name, args=given)
        flows = union_of(value.flows for value in ([owner, *given] if owner is not None else given))
        parts = union_of(with_parts(value) for value in given if not isinstance(value, Const))
        return Opaque(name, "call", self.site(node), flows, parts, owner)

    # -- functions of the project -------------------------------------------------------------------------------------

    def inline(self, func: Func, args, kwargs, node: cst.CSTNode | None, self_value: Value | None = None) -> Value:
        """Runs a function of the project where it is called; what it returns."""
        key = func.key
        if self.stack.count(key) >= 1 or len(self.stack) >= self.most_depth:
            return self.unknown_call(func.name, args, kwargs, node) if node is not None else Opaque(func.name, "call")
        definition, parsed = self.definition(func)
        if definition is None:
            return self.unknown_call(func.name, args, kwargs, node) if node is not None else Opaque(func.name, "call")
        frame = self.new_frame(func, self_value)
        saved = (self.frame, self.parsed, self.store, self.jumps, self.call_sites, self.guards)
        depth = len(self.contexts)
        if node is not None:
            self.call_sites = (*self.call_sites, self.site(node))
        self.stack.append(key)
        frame.base = self.store
        tails = list(self.graph.tails)
        try:
            self.store = Store(self.store)
            self.jumps = []
            outer_frame, outer_parsed = self.frame, self.parsed
            self.frame, self.parsed = frame, parsed
            self.push_decorators(func, definition)
            self.bind(definition, args, kwargs, (outer_frame, outer_parsed), func)
            if isinstance(definition, cst.Lambda):
                value = self.eval(definition.body)
                frame.returns.append((self.store.writes_since(frame.base), value, self.graph.tails))
            else:
                self.suite(definition.body)
                if not self.graph.dead:
                    frame.returns.append((self.store.writes_since(frame.base), NONE, self.graph.tails))
        finally:
            self.frame, self.parsed, self.store, self.jumps, self.call_sites, self.guards = saved
            del self.contexts[depth:]
            self.stack.pop()
        self.entered.add(id(key))
        return self.returned(frame, func, args, kwargs, node, tails)

    def returned(self, frame, func: Func, args, kwargs, node, tails) -> Value:
        """Goes on after a call: the paths that returned meet."""
        returns = frame.returns
        frame.returns, frame.base = [], None  # the stores hold the frame: a circle
        if not returns:
            if _left_to_others(func):
                self.graph.tails = tails
                return self.unknown_call(func.name, args, kwargs, node) if node is not None else Opaque(func.name, "call")
            self.graph.tails = []
            return Opaque(func.name, "call")
        if not frame.captured:
            returns = [
                ({key: value for key, value in writes.items() if key[0] is not frame}, value, tails)
                for writes, value, tails in returns
            ]
        self.meet([(writes, tails) for writes, _, tails in returns])
        result = returns[0][1]
        for _, value, _ in returns[1:]:
            result = join(result, value)
        if frame.yields:
            items = self.sequence("list", frame.yields[-1:], None, True)
            return Iter("generator", items, None, once=True)
        return result

    def new_frame(self, func: Func, self_value: Value | None):
        frame = self.Frame(func.facts, func, func.frame)
        frame.self_value = self_value
        return frame

    def definition(self, func: Func):
        """The function's libcst node and the tree it belongs to."""
        if func.node is None:
            parsed = self.world.parse(func.facts, func.unit)
            if parsed is None or not parsed.body or not isinstance(parsed.body[0], cst.FunctionDef):
                return None, None
            func.node, func.parsed = parsed.body[0], parsed
        return func.node, func.parsed

    def bind(self, definition, args, kwargs, caller, func: Func) -> None:
        """Gives the parameters their values."""
        params = definition.params
        names = [*params.posonly_params, *params.params]
        rest = list(args)
        given = dict(kwargs)
        unsure = "*" in given or "**" in given
        given.pop("*", None)
        given.pop("**", None)
        for param in names:
            name = param.name.value
            if rest:
                value = rest.pop(0)
                if name == "self" and self.frame.self_value is None and func.home is not None:
                    self.frame.self_value = value
            elif name in given:
                value = given.pop(name)
            elif param.default is not None and not unsure:
                value = self.eval(param.default)
            else:
                value = self.parameter(param)
            self.store.set(self.frame, name, value)
        for param in params.kwonly_params:
            name = param.name.value
            if name in given:
                value = given.pop(name)
            elif param.default is not None and not unsure:
                value = self.eval(param.default)
            else:
                value = self.parameter(param)
            self.store.set(self.frame, name, value)
        if isinstance(params.star_arg, cst.Param):
            self.store.set(self.frame, params.star_arg.name.value, self.sequence("tuple", rest, None, unsure))
        if params.star_kwarg is not None:
            self.store.set(self.frame, params.star_kwarg.name.value, self.mapping(given, None, unsure))

    def parameter(self, param: cst.Param) -> Value:
        """An argument of which nothing is known but what its declaration says."""
        tags = set()
        if param.annotation is not None:
            declared = declared_type(self.parsed.text(param.annotation.annotation))
            if declared == "Tensor":
                return Tensor(param.name.value, "param", self.site(param))
            if declared in DECLARED:
                tags.add(DECLARED[declared])
        value = Opaque(param.name.value, "param", self.site(param), tags=frozenset(tags))
        if param.default is not None and isinstance(param.default, cst.Name) and param.default.value in ("True", "False"):
            value.tags |= {"bool"}
        return value

    # -- decorators -----------------------------------------------------------------------------------------------------

    def push_decorators(self, func: Func, definition) -> None:
        """Opens the contexts that a function's decorators put around its body."""
        for decorator in getattr(definition, "decorators", ()):
            expression = decorator.decorator
            called = isinstance(expression, cst.Call)
            name = self.dotted(expression.func if called else expression)
            self.push_decorator(name, expression)

    def push_decorator(self, name: str, node: cst.CSTNode) -> None:
        first, _, rest = name.partition(".")
        if name in HARMLESS_DECORATORS or name.rsplit(".", 1)[-1] in HARMLESS_DECORATORS or name.endswith((".setter", ".command")):
            return
        value = self.global_value(first, self.frame.facts)
        qualified = canonical(f"{value.name}.{rest}" if rest else value.name) if isinstance(value, Ref) else "?"
        if qualified in ("torch.no_grad", "torch.inference_mode"):
            self.contexts.append(self.Context("grad", self.site(node), False))
        elif qualified == "torch.enable_grad":
            self.contexts.append(self.Context("grad", self.site(node), True))
        elif qualified in ("torch.amp.autocast", "torch.amp.custom_fwd"):
            self.contexts.append(self.Context("autocast", self.site(node)))
        elif qualified == "?" or qualified.startswith("torch"):
            self.contexts.append(self.Context("grad", self.site(node), None))

    # -- classes of the project -------------------------------------------------------------------------------------------

    def class_of(self, facts: FileFacts, cf: ClassFacts) -> Class:
        """The class value of a class of the project, its bases resolved."""
        found = self.classes.get(id(cf))
        if found is None:
            found = self.classes[id(cf)] = Class(cf, facts)
            for base in cf.bases:
                first, _, rest = base.replace("()", "").partition(".")
                value = self.nested_class(facts, first) or self.global_value(first, facts) or Opaque(first, "global")
                for part in rest.split(".") if rest else ():
                    value = self.attribute(value, part, None)
                if isinstance(value, Opaque) and value.name == "object":
                    continue
                found.bases.append(value)
            found.complete = True
        return found

    def nested_class(self, facts: FileFacts, name: str) -> Class | None:
        if name in facts.classes or name in facts.imports:
            return None
        for cf in facts.all_classes():
            if cf.name == name:
                return self.class_of(facts, cf)
        return None

    def kind_of_class(self, cls: Class) -> str:
        """What instances of a project class are: module, optimizer, scheduler, dataset, sampler, or plain instances."""
        for name in cls.externals():
            kind = base_kind(name)
            if kind:
                return kind
        return "instance"

    def instantiate(self, cls: Class, args, kwargs, node: cst.CSTNode) -> Value:
        """An instance of a class of the project; its __init__ is run."""
        instance = Instance(cls, self.kind_of_class(cls), self.site(node) if node is not None else None, args, kwargs)
        self.made_here(instance)
        if instance.kind == "module":
            self.store.set(instance, self.MODE, TRUE)
            self.emit_module(instance, node)
        found = cls.method("__init__")
        if found is not None:
            owner, unit = found
            self.inline(Func("__init__", owner.facts, unit, owner), [instance, *args], kwargs, node, instance)
            if self.graph.dead:
                instance.complete = False
        elif any(d.split(".")[-1].startswith("dataclass") for d in cls.cf.decorators):
            for name, value in kwargs.items():
                self.store.set(instance, name, value)
        if instance.kind == "optimizer":
            self.created_optimizer(instance, node, seen=found is not None)
        elif instance.kind == "scheduler":
            self.emit("scheduler.create", instance, node, optimizer=instance.arg(0, "optimizer"))
        return instance

    def class_attribute(self, cls: Class, name: str) -> Value | None:
        """A name in the body of a class or of its bases."""
        found = self.store.get(cls, name)
        if found is not None:
            return found
        for owner in cls.mro():
            if not isinstance(owner, Class):
                continue
            if name in owner.cf.classes:
                return self.class_of(owner.facts, owner.cf.classes[name])
            if name in owner.cf.methods:
                unit = owner.cf.methods[name]
                return Func(name, owner.facts, unit, owner)
            for unit in owner.cf.body:
                if name in unit.words:
                    value = self.run_class_body(owner, unit, name)
                    if value is not None:
                        self.base_store.set(cls, name, value)
                        return value
        return None

    def run_class_body(self, cls: Class, unit, name: str) -> Value | None:
        parsed = self.world.parse(cls.facts, unit)
        if parsed is None or id(unit) in self.ran:
            return None
        self.ran.add(id(unit))
        with self.silent():
            self.frame = self.Frame(cls.facts, Func("<class>", cls.facts, unit, cls))
            self.frame.base = self.store
            self.parsed = parsed
            self.run_block(parsed.body)
            return self.store.get(self.frame, name)

    def late_attribute(self, owner: Instance, name: str) -> Value | None:
        """An attribute that no code run so far has set: some other method of the class sets it."""
        mark = " late " + name
        if self.base_store.get(owner, mark) is not None:
            return None
        self.base_store.set(owner, mark, TRUE)
        for cls in owner.cls.mro():
            if not isinstance(cls, Class):
                continue
            for unit in cls.cf.methods.values():
                if name in unit.sets and unit.name != "__init__" and unit not in self.stack:
                    with self.silent():
                        self.frame = None
                        self.run_root_function(Func(unit.name, cls.facts, unit, cls), owner)
                    value = self.base_store.get(owner, name)
                    if value is not None:
                        return value
        return None

    def set_elsewhere(self, owner: Instance, name: str) -> Value:
        """An attribute that __init__ leaves at None for another method to set: on an object of which only that is known, it
        may be either."""
        for cls in owner.cls.mro():
            if isinstance(cls, Class):
                for unit in cls.cf.methods.values():
                    if name in unit.sets and unit.name != "__init__":
                        late = Opaque(name, "attr", None, NOTHING, NOTHING, owner)
                        value = Union((NONE, late))
                        self.base_store.set(owner, name, value)
                        self.store.set(owner, name, value)
                        return value
        return NONE

    def run_root_function(self, func: Func, self_value: Value | None = None) -> Value:
        """Runs a function that nothing seen calls: its parameters are not known."""
        args = [self_value] if self_value is not None and "staticmethod" not in (func.unit.decorators if func.unit else ()) else []
        if func.unit is not None and "classmethod" in func.unit.decorators:
            args = [func.home] if func.home is not None else []
        return self.inline(func, args, {"**": NONE}, None, self_value)

    def run_late(self, unit: Unit, name: str, facts: FileFacts) -> Value | None:
        """A name that statements of a file set which were not run so far: those of another file, or of this one where
        the sieve left them out. They are run for the values they leave."""
        self.ran.add(id(unit))
        parsed = self.world.parse(facts, unit)
        if parsed is None or "__name__" in unit.words:
            return None
        with self.silent():
            self.frame = self.Frame(facts)
            self.frame.base = self.store
            self.parsed = parsed
            self.run_block(parsed.body)
        return self.base_store.get(facts, name)

    @contextmanager
    def silent(self):
        """Runs something for the values it leaves; its events are no part of this run."""
        names = ("entered", "graph", "store", "loops", "contexts", "guards", "call_sites", "jumps", "frame", "parsed")
        saved = {name: getattr(self, name) for name in names}
        self.graph, self.store, self.entered = type(self.graph)(self.world.events), self.base_store, set(self.entered)
        self.loops, self.contexts, self.guards, self.call_sites, self.jumps = (), [], (), (), []
        try:
            yield
        finally:
            if self.frame is not None and self.frame is not saved["frame"]:
                self.frame.base = None  # the store holds the frame: a circle
            for name, value in saved.items():
                setattr(self, name, value)

    # -- Python's own functions -------------------------------------------------------------------------------------------

    def _result(self, args, tags=NOTHING) -> Value:
        return Opaque("", "call", None, union_of(a.flows for a in args), union_of(frozenset({a}) for a in args), None, tags)

    def builtin_enumerate(self, args, kwargs, node) -> Value:
        return Iter("enumerate", args[0], self.site(node)) if args else Opaque("", "call")

    def builtin_zip(self, args, kwargs, node) -> Value:
        return Iter("zip", self.sequence("tuple", args, node, "*" in kwargs), self.site(node))

    def builtin_iter(self, args, kwargs, node) -> Value:
        if args and isinstance(args[0], (Instance, Opaque)):
            for alt in real(args[0]):
                self.emit("loader.iterate", alt, node, over=alt, manual=True)
        return Iter("same", args[0], self.site(node)) if args else Opaque("", "call")

    def builtin_next(self, args, kwargs, node) -> Value:
        if not args:
            return Opaque("", "call")
        if isinstance(args[0], Iter) and args[0].site is not None and args[0].site.node is node.args[0].value:
            self.emit("loader.first", args[0].base, node)  # next(iter(loader)): the pass that starts here ends here
        for alt in real(args[0]):
            if isinstance(alt, Instance) and isinstance(alt.cls, Class):
                found = alt.cls.method("__next__")
                if found:
                    return self.call_method(alt, "__next__", [], {}, node)
        return self.element(args[0])

    def builtin_list(self, args, kwargs, node) -> Value:
        if not args:
            return self.sequence("list", [], node)
        self.consume(args[0], node)
        items = self.items_of(args[0])
        if items is not None:
            return self.sequence("list", list(items), node)
        if isinstance(args[0], Iter) and args[0].kind in ("parameters", "named_parameters"):
            return self.sequence("list", [self.element(args[0])], node, True)
        element = self.element(args[0])
        return self.sequence("list", [element], node, True)

    builtin_tuple = builtin_set = builtin_sorted = builtin_reversed = builtin_list

    def builtin_dict(self, args, kwargs, node) -> Value:
        if len(args) == 1 and not kwargs and isinstance(args[0], Opaque) and "state_dict" in args[0].tags:
            return self.shallow_copy(args[0], node)
        if args and isinstance(args[0], Dict):
            items = self.store.get(args[0], "{}") or Items({}, True)
            return self.mapping({**items.known, **kwargs}, node, items.open)
        return self.mapping(dict(kwargs), node, bool(args) or "**" in kwargs)

    def builtin_filter(self, args, kwargs, node) -> Value:
        if len(args) < 2:
            return Opaque("", "call")
        made = Iter("filter", args[1], self.site(node), once=True)
        self.emit("iter.create", made, node)
        return made

    def builtin_map(self, args, kwargs, node) -> Value:
        if len(args) > 1:
            result = self.call_value(args[0], [self.element(arg) for arg in args[1:]], {}, node) if isinstance(args[0], (Func, Class, Ref, Method)) else self._result(args)
            return Iter("generator", self.sequence("list", [result], node, True), self.site(node), once=True)
        return Opaque("", "call")

    def builtin_setattr(self, args, kwargs, node) -> Value:
        if len(args) == 3:
            for owner in real(args[0]):
                if isinstance(args[1], Const) and isinstance(args[1].value, str) and args[1].value.isidentifier():
                    self.set_attribute(owner, args[1].value, args[2], node)
                elif isinstance(owner, (Instance, Opaque)):
                    self.register(args[2])
        return NONE

    def builtin_getattr(self, args, kwargs, node) -> Value:
        if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].value, str) and args[1].value.isidentifier():
            return self.attribute(args[0], args[1].value, node)
        return Opaque("", "call", None, NOTHING, NOTHING, args[0] if args else None)

    def builtin_isinstance(self, args, kwargs, node) -> Value:
        answers = {self.is_a(alt, args[1]) for alt in alternatives(args[0])} if len(args) == 2 else {None}
        answer = answers.pop() if len(answers) == 1 else None
        return Opaque("", "call", tags=frozenset({"bool"})) if answer is None else Const(answer)

    def is_a(self, value: Value, cls: Value) -> bool | None:
        """Whether a module or tensor is of one of torch's classes; None where that is not certain."""
        names = [alt.name if isinstance(alt, Ref) else "?" for alt in (self.items_of(cls) or (cls,))]
        if "?" in names:
            return None
        if isinstance(value, Tensor):
            if all(name.startswith("PIL.") for name in names):
                return False
            return True if {"torch.Tensor", "torch.autograd.Variable"} & set(names) else None
        if isinstance(value, Instance) and value.kind in ("module", "wrapper", "loss"):
            if "torch.nn.Module" in names or isinstance(value.cls, Ref) and value.type in names:
                return True
            return False if names == ["torch.Tensor"] else None
        return None

    def builtin_issubclass(self, args, kwargs, node) -> Value:
        answers = {self.derives(alt, args[1]) for alt in alternatives(args[0])} if len(args) == 2 else {None}
        return Const(True) if answers == {True} else Opaque("", "call", tags=frozenset({"bool"}))

    def derives(self, cls: Value, base: Value) -> bool | None:
        """Whether a class is another one, or is made from it in the project; None where that is not certain."""
        bases = self.items_of(base) or (base,)
        names = {alt.name for alt in bases if isinstance(alt, Ref)}
        own = list(cls.mro()) if isinstance(cls, Class) else [cls]
        return True if any(item in bases or isinstance(item, Ref) and item.name in names for item in own) else None

    def _number(self, args, kwargs, node) -> Value:
        self.emit("readout", args[0] if args else None, node, name="float")
        return Opaque("", "call", tags=frozenset({"number"}))

    def builtin_float(self, args, kwargs, node) -> Value:
        if len(args) == 1 and isinstance(args[0], Const) and isinstance(args[0].value, (str, int, float)):
            try:
                return Const(float(args[0].value))
            except (ValueError, OverflowError):
                pass
        return self._number(args, kwargs, node)

    builtin_int = builtin_len = builtin_bool = builtin_round = builtin_hasattr = builtin_id = _number
    builtin_str = builtin_repr = builtin_format = builtin_type = _number

    def builtin_print(self, args, kwargs, node) -> Value:
        for arg in args:
            self.emit("readout", arg, node, name="print")
        return NONE

    def builtin_range(self, args, kwargs, node) -> Value:
        return Opaque("range", "call", None, tags=frozenset({"range"}))

    def builtin_sum(self, args, kwargs, node) -> Value:
        if not args:
            return Opaque("", "call")
        element = self.element(args[0])
        if isinstance(element, Tensor):
            return element.with_(self.site(node), act=None)
        return Opaque("", "op", self.site(node), element.flows | args[0].flows, with_parts(element))

    def builtin_max(self, args, kwargs, node) -> Value:
        return self._result(args)

    builtin_min = builtin_abs = builtin_pow = builtin_divmod = builtin_vars = builtin_any = builtin_all = builtin_max

    def builtin_input(self, args, kwargs, node) -> Value:
        return Opaque("", "call", tags=frozenset({"str"}))

    def builtin_open(self, args, kwargs, node) -> Value:
        return Opaque("file", "call", tags=frozenset({"file"}))

    def builtin_exit(self, args, kwargs, node) -> Value:
        self.graph.tails = []
        return NONE

    builtin_quit = builtin_exit


def _left_to_others(func: Func) -> bool:
    """Whether a method only says that subclasses must write it: what is called in the end is not known."""
    return func.unit is not None and "NotImplementedError" in func.unit.words
