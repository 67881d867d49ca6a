"""Python's own functions: `enumerate`, `list`, `isinstance`, ..., each as `builtin_` and its name."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.arrays import is_read_out, of_numpys
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
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
    Tensor,
    Value,
    alternatives,
    real,
    union_of,
    with_parts,
)

_PLAIN = frozenset({"list", "tuple", "dict", "set", "frozenset", "int", "float", "complex", "str", "bytes", "bool"})
_NO_TENSORS = ("PIL.", "numpy.", "collections.", "numbers.", "pandas.", "scipy.", "pathlib.", "torch.Size", "torch.device", "torch.dtype")


def class_names(classes: Iterable[Value]) -> list[str]:
    """The names of classes that a condition asks for, Python's own among them; "?" for one that is not known."""
    return [
        alt.name if isinstance(alt, Ref) or isinstance(alt, Opaque) and alt.source == "global" and alt.name in _PLAIN else "?"
        for alt in classes
    ]


def never_tensors(names: list[str]) -> bool:
    """Whether no tensor is of one of these classes."""
    return bool(names) and all(name in _PLAIN or name.startswith(_NO_TENSORS) for name in names)


class Builtins:
    """The part of a run that knows Python's own functions. See `interpreter.Run` for the state it works on."""

    def result_of(self, args, tags=NOTHING) -> Value:
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
        if isinstance(args[0], Iter) and args[0].kind == "parameters":
            return self.sequence("list", list(self.spread(args[0]).known), node, True, True)
        if isinstance(args[0], Iter) and args[0].kind == "named_parameters":
            return self.sequence("list", [self.element(args[0])], node, True)
        if isinstance(args[0], Seq) and (inner := self.spread(args[0])).alike:
            return self.sequence("list", list(inner.known), node, True, True)
        element = self.element(args[0])
        kinds = real(element)
        of_parameters = bool(kinds) and all(isinstance(alt, Tensor) and alt.traits.get("param") for alt in kinds)
        return self.sequence("list", [element], node, True, of_parameters)

    builtin_tuple = builtin_set = builtin_sorted = builtin_reversed = builtin_list

    def builtin_dict(self, args, kwargs, node) -> Value:
        if len(args) == 1 and not kwargs and isinstance(args[0], Opaque) and "state_dict" in args[0].tags:
            return self.shallow_copy(args[0], node)
        if args and isinstance(args[0], Dict):
            items = self.store.get(args[0], "{}") or Items({}, True)
            return self.mapping({**items.known, **kwargs}, node, items.open)
        if len(args) == 1 and not kwargs and isinstance(args[0], Iter) and args[0].kind == "named_parameters":
            self.consume(args[0], node)
            named = self.items_of(self.element(args[0]))  # as `{name: p for name, p in model.named_parameters()}` has them
            return self.mapping({"*0": named[-1]}, node, True, alike=True) if named else self.mapping({}, node, True)
        return self.mapping(dict(kwargs), node, bool(args) or "**" in kwargs)

    def builtin_filter(self, args, kwargs, node) -> Value:
        if len(args) < 2:
            return Opaque("", "call")
        made = Iter("filter", args[1], self.site(node), once=True)
        self.emit("iter.create", made, node)
        return made

    def builtin_map(self, args, kwargs, node) -> Value:
        if len(args) > 1:
            result = self.call_value(args[0], [self.element(arg) for arg in args[1:]], {}, node) if isinstance(args[0], (Func, Class, Ref, Method)) else self.result_of(args)
            return Iter("generator", self.sequence("list", [result], node, True), self.site(node), once=True)
        return Opaque("", "call")

    def builtin_setattr(self, args, kwargs, node) -> Value:
        if len(args) == 3:
            for owner in real(args[0]):
                if isinstance(args[1], Const) and isinstance(args[1].value, str) and args[1].value.isidentifier():
                    self.set_attribute(owner, args[1].value, args[2], node)
                elif isinstance(owner, (Instance, Opaque)):
                    self.register(args[2])
                    self.put_layer(owner, args[1], args[2])
        return NONE

    def builtin_getattr(self, args, kwargs, node) -> Value:
        if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].value, str) and args[1].value.isidentifier():
            return self.attribute(args[0], args[1].value, node)
        picked = self.picked(args[0]) if args else None
        return picked or Opaque("", "call", None, NOTHING, NOTHING, args[0] if args else None)

    def builtin_vars(self, args, kwargs, node) -> Value:
        return args[0] if len(args) == 1 and isinstance(args[0], ProjectModule) else self.result_of(args)

    def builtin_isinstance(self, args, kwargs, node) -> Value:
        answers = {self.is_a(alt, args[1]) for alt in alternatives(args[0])} if len(args) == 2 else {None}
        answer = answers.pop() if len(answers) == 1 else None
        return Opaque("", "call", tags=frozenset({"bool"})) if answer is None else Const(answer)

    def is_a(self, value: Value, cls: Value) -> bool | None:
        """Whether a module or tensor is of one of torch's classes; None where that is not certain."""
        names = class_names(self.items_of(cls) or (cls,))
        if isinstance(value, Tensor):
            if {"torch.Tensor", "torch.autograd.Variable"} & set(names):
                return True
            # An argument that is only declared to be a tensor may be what the function asks for.
            return False if value.source != "param" and never_tensors(names) else None
        if "?" in names:
            return None
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
        if len(args) == 2 and isinstance(args[1], Seq):  # lists put together
            lists = [self.spread(item) for item in (args[1], *(self.items_of(args[0]) or ()))]
            if self.items_of(args[0]) is not None and all(one.of_known_kinds for one in lists):
                return self.sequence("list", [item for one in lists for item in one.known], node, any(one.open for one in lists), True)
        element = self.element(args[0])
        if isinstance(element, Tensor):
            return element.with_(self.site(node), act=None)
        parts = with_parts(element).union(*map(with_parts, real(element)))
        return Opaque("", "op", self.site(node), element.flows | args[0].flows, parts, tags=of_numpys("Add", Const(0), element))

    def builtin_abs(self, args, kwargs, node) -> Value:
        return self.result_of(args)

    builtin_pow = builtin_divmod = builtin_any = builtin_all = builtin_abs

    def builtin_max(self, args, kwargs, node) -> Value:
        made = self.result_of(args)
        if len(args) > 1 and type(made) is Opaque and made.origin is None:
            calls = (alt for arg in args for alt in real(arg) if isinstance(alt, Opaque) and alt.source == "call")
            figure = next((alt for alt in calls if "foreign" in alt.tags or is_read_out(alt)), None)
            if figure is not None:  # it is one of those that it is given: what one of them is made by tells what it may be
                return Opaque("max", "call", made.site, made.flows, made.parts, figure, made.tags)
        return made

    builtin_min = builtin_max

    def builtin_input(self, args, kwargs, node) -> Value:
        return Opaque("", "call", tags=frozenset({"str"}))

    def builtin_open(self, args, kwargs, node) -> Value:
        return Opaque("file", "call", tags=frozenset({"file"}))

    def builtin_exit(self, args, kwargs, node) -> Value:
        self.graph.tails = []
        return NONE

    builtin_quit = builtin_exit
