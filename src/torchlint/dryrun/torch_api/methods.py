"""What methods do, by what the receiver is: a tensor, a module, an optimizer, a container, or something whose kind only its use tells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce

import libcst as cst

from torchlint.catalogue import effects
from torchlint.catalogue.apis import keywords
from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.frameworks import DRIVER_NAME, DRIVES
from torchlint.dryrun.values import (
    FALSE,
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
    union_of,
    with_parts,
)

OPTIMIZER_NAME = re.compile(r"optim|(?:^|_)opt(?:_|$|\d|[A-Z])|^opt|(?:^|_)(?:adam|sgd)(?:_|$)", re.IGNORECASE)
SCHEDULER_NAME = re.compile(r"sched|lr_policy|(?:^|_)warmup", re.IGNORECASE)
SCALER_NAME = re.compile(r"scaler", re.IGNORECASE)
FRAMEWORK_NAME = re.compile(r"accelerat|fabric|engine|strategy|manager|(?:^|_)amp$", re.IGNORECASE)
PARAMETER_VIEWS = frozenset({"parameters", "named_parameters", "modules", "named_modules", "children", "named_children", "buffers",
                             "named_buffers"})
MOVES = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "to_empty", "type"})
# Methods by which a module takes something under a name: what that is, and the argument that gives it.
_REGISTERS = {
    "add_module": ("module", "module"),
    "register_module": ("module", "module"),
    "register_buffer": ("buffer", "tensor"),
    "register_parameter": ("parameter", "param"),
}


class Methods:
    """The part of a run that knows methods. See `interpreter.Run` for the state it works on."""

    MODE = " mode"

    def call_method(self, owner: Value, name: str, args, kwargs, node: cst.CSTNode) -> Value:
        """Calls `owner.name(...)`."""
        set_value = self.store.get(owner, name)
        if set_value is not None and not isinstance(owner, (Ref, ProjectModule)) and not (isinstance(set_value, Opaque) and set_value.origin is owner):
            return self.each(real(set_value), lambda alt: self.call_value(alt, args, kwargs, node))
        if isinstance(owner, (Ref, ProjectModule, Class)):
            value = self.attribute(owner, name, node)
            if isinstance(owner, Class) and isinstance(value, Func) and value.unit is not None and "classmethod" in value.unit.decorators:
                return self.inline(value, [owner, *args], kwargs, node)
            if name == "__init__" and args and isinstance(args[0], Instance):
                return self.base_init(owner, value, args, kwargs, node)
            return self.each(real(value), lambda alt: self.call_value(alt, args, kwargs, node))
        if isinstance(owner, Instance):
            return self.instance_method(owner, name, args, kwargs, node)
        if isinstance(owner, Super):
            return self.super_method(owner, name, args, kwargs, node)
        if isinstance(owner, Tensor):
            if kwargs:
                self.emit_keywords("torch.Tensor." + name, kwargs, node)
            return self.tensor_method(owner, name, args, kwargs, node)
        if name == "backward" and isinstance(owner, (Seq, Dict, Iter, Const)):
            return self.backward(owner, args, kwargs, node)  # it is no such thing: what it is was taken for wrong
        if isinstance(owner, (Seq, Dict)):
            return self.container_method(owner, name, args, kwargs, node)
        if isinstance(owner, Opaque):
            return self.opaque_method(owner, name, args, kwargs, node)
        if isinstance(owner, Iter):
            return self.element(owner) if name == "__next__" else Opaque(name, "call")
        if isinstance(owner, Const):
            return Opaque(name, "call", None, NOTHING, NOTHING, None, frozenset({"str"}))
        if isinstance(owner, Method):
            return Opaque(name, "call", None, owner.flows)
        return self.unknown_call(name, args, kwargs, node, owner)

    def base_init(self, base: Value, value: Value, args, kwargs, node) -> Value:
        """Base.__init__(self, ...)."""
        if isinstance(value, Func):
            return self.inline(value, args, kwargs, node, args[0])
        self.emit("super.init", args[0], node, home=base)
        return NONE

    # -- objects ------------------------------------------------------------------------------------------------------

    def instance_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        if name == "__class__":
            return self.call_value(owner.cls, args, kwargs, node)
        if isinstance(owner.cls, Class):
            found = owner.cls.method(name)
            if found is not None:
                home, unit = found
                builtin = owner.kind == "optimizer" and name in ("step", "zero_grad")
                builtin = builtin or owner.kind == "scheduler" and name == "step"
                builtin = builtin or owner.kind == "module" and name in ("train", "eval") and "super" in unit.words
                builtin = builtin or owner.kind == "module" and name == "forward"
                if not builtin:
                    static = any(d in ("staticmethod",) for d in unit.decorators)
                    first = [] if static else [owner.cls if "classmethod" in unit.decorators else owner]
                    return self.inline(Func(name, home.facts, unit, home), [*first, *args], kwargs, node, None if static else owner)
            value = self.class_attribute(owner.cls, name) if found is None else None
            if value is not None and not isinstance(value, Opaque):
                return self.call_value(value, args, kwargs, node)
            if found is None and owner.kind == "instance":
                late = self.late_attribute(owner, name)
                if late is not None:
                    return self.each(real(late), lambda alt: self.call_value(alt, args, kwargs, node))
        handler = getattr(self, f"{_KINDS.get(owner.kind, owner.kind)}_method", None)
        if handler is not None and owner.kind != "instance":  # of a plain object nothing more is known than its class
            return handler(owner, name, args, kwargs, node)
        if isinstance(owner.cls, Class) and "?" in owner.cls.externals() or owner.kind == "instance":
            return self.opaque_method(owner, name, args, kwargs, node)
        return self.unknown_call(name, args, kwargs, node, owner)

    def super_method(self, owner: Super, name: str, args, kwargs, node) -> Value:
        instance = owner.owner
        if isinstance(instance, Instance) and isinstance(instance.cls, Class):
            found = instance.cls.method(name, after=owner.home)
            if found is not None:
                return self.inline(Func(name, found[0].facts, found[1], found[0]), [instance, *args], kwargs, node, instance)
            if name == "__init__":
                self.emit("super.init", instance, node, home=owner.home)
                if any(base == "torch.nn.Sequential" for base in instance.cls.externals()):
                    self.store.set(instance, "[]", Items(tuple(args), "*" in kwargs))
                    for arg in args:
                        self.adopt(instance, arg)
                return NONE
            if instance.kind == "module" and (name in ("train", "eval") or name in _REGISTERS):
                return self.module_method(instance, name, args, kwargs, node)
        flows = union_of(arg.flows for arg in args)
        return Opaque(name, "call", self.site(node), flows, NOTHING, instance)

    def module_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        done = self.framework_method(owner, name, args, kwargs, node)
        if done is not None:
            return done
        if name in ("train", "eval"):
            return self.set_mode(owner, name, args, kwargs, node)
        if name in PARAMETER_VIEWS:
            return self.view_of(name, owner, node)
        if name in MOVES:
            return self.move_module(owner, name, args, kwargs, node)
        if name == "zero_grad":
            self.emit("optimizer.zero_grad", owner, node)
            return NONE
        if name == "state_dict":
            return Opaque("state_dict", "call", self.site(node), NOTHING, NOTHING, owner, frozenset({"state_dict"}))
        if name == "load_state_dict":
            self.emit("load", owner, node, args=args, state=args[0] if args else kwargs.get("state_dict"))
            return Opaque("load_state_dict", "call", self.site(node), NOTHING, NOTHING, owner, frozenset({"load_result"}))
        if name in _REGISTERS:
            word, given = _REGISTERS[name]
            self.register_as(
                owner, args[0] if args else kwargs.get("name"), args[1] if len(args) > 1 else kwargs.get(given), word
            )
            return NONE
        if name in ("append", "extend", "insert", "update", "__setitem__"):
            items = self.store.get(owner, "[]")
            if items is None and owner.type in ("torch.nn.ModuleDict",):
                return NONE
            items = items or Items((), True)
            values = [args[-1]] if name in ("append", "insert") and args else []
            is_open = items.open or bool(self.loops) or name != "append"
            if name == "extend" and args:
                values = list(self.known_items(args[0]))
                self.escaped.update(id(alt) for alt in real(args[0]))
            self.store.set(owner, "[]", Items((*items.known, *values), is_open))
            for value in values:
                self.adopt(owner, value)
            return NONE
        if name in ("values", "keys", "items"):
            return Iter(name, owner, self.site(node))
        if name in ("requires_grad_", "apply", "compile", "share_memory", "train_", "freeze"):
            if name == "requires_grad_":
                self.store.set(owner, " frozen", TRUE if args and boolean(args[0]) is False or boolean(kwargs.get("requires_grad")) is False else FALSE)
            return owner
        if name in ("forward", "__call__"):
            return self.call_module(owner, args, kwargs, node, direct=name == "forward")
        if name == "from_pretrained" and isinstance(owner.cls, Ref):
            return self.call_ref(Ref(f"{owner.type}.from_pretrained"), args, kwargs, node)
        if name.startswith("register_"):
            self.emit("hook", owner, node, name=name, in_forward=self.in_forward())
            return Opaque("handle", "call", self.site(node), NOTHING, NOTHING, owner)
        if name == "no_sync":
            return Instance(Ref("no_sync"), "context", self.site(node), args, kwargs)
        value = self.attribute(owner, name, node)
        if isinstance(value, (Instance, Func, Opaque)):
            return self.call_value(value, args, kwargs, node) if not isinstance(value, Opaque) else self.opaque_result(owner, name, args, kwargs, node)
        return self.opaque_result(owner, name, args, kwargs, node)

    def register_as(self, owner: Instance, name: Value | None, value: Value | None, what: str) -> None:
        """A module takes a module, buffer or parameter under a name."""
        known = name.value if isinstance(name, Const) and isinstance(name.value, str) and name.value[:1] not in " [{" else ""
        if known and what == "buffer":
            self.buffers.add((id(owner), known))
            self.keep.append(owner)
        if value is None:
            return
        self.adopt(owner, value)
        if known:
            self.store.set(owner, known, self.placed_by_module(value, known))

    def placed_by_module(self, value: Value, name: str = "") -> Value:
        """What a module holds of a tensor that it registers. Whoever moves the module, or a larger one that it is in,
        moves that; it need not be seen. The tensor that was given stays where it is."""
        kept: list[Value] = []
        for alt in alternatives(value):
            if isinstance(alt, Tensor) and "device" in alt.traits:
                shape, rank = alt.traits.get("shape"), alt.traits.get("rank")
                alt = alt.with_(None, device=None, made=None, shape=shape, rank=rank)
                alt.name = name
                self.register(alt)
            kept.append(alt)
        return reduce(join, kept) if kept else value

    def within(self, owner: Value) -> Iterator[Value]:
        """A module and all that is in it."""
        seen: set[int] = set()
        todo: list[Value] = [owner]
        while todo:
            module = todo.pop()
            if id(module) not in seen:
                seen.add(id(module))
                yield module
                todo.extend(self.children.get(id(module), ()))
                if isinstance(module, Instance) and module.kind == "wrapper":
                    todo.extend(real(module.args[0]) if module.args else ())

    def view_of(self, kind: str, owner: Value, node) -> Iter:
        """model.parameters() and its like: a generator that can be gone through once."""
        made = Iter(kind, owner, self.site(node), once=True)
        self.emit("iter.create", made, node)
        return made

    def opaque_result(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """An unknown method of a known object: its result came out of the object and the arguments."""
        if isinstance(owner, Instance) and owner.kind in ("module", "wrapper"):
            grad, grad_site = self.grad_state()
            event = self.emit("forward", owner, node, mode=self.mode_of(owner), mode_site=self.mode_site(owner), grad=grad,
                              grad_site=grad_site, args=args, direct=False, method=name, inside=self.inside_module(owner))
            flows = union_of([*(arg.flows for arg in args), frozenset({event})])
            return Opaque(name, "call", self.site(node), flows, NOTHING, owner)
        return self.unknown_call(name, args, kwargs, node, owner)

    def move_contents(self, owner: Value) -> None:
        """An object of unknown kind is moved: the tensors that were put on it may go along."""
        for name, value in list(self._attributes_of(owner)):
            if isinstance(value, Tensor) and "device" in value.traits:
                self.store.set(owner, name, value.with_(None, device=None, made=None))

    def shallow_copy(self, state: Value, node) -> Opaque:
        """A new dict around the same tensors: as live as the old one."""
        return Opaque("state_dict", "call", self.site(node), NOTHING, NOTHING, state.origin, state.tags)

    def set_mode(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """model.train() and model.eval(), for the module and all that is in it."""
        given = args[0] if args else kwargs.get("mode")
        known: bool | None = name == "train"
        if name == "train" and given is not None:
            known = boolean(given) if isinstance(given, Const) else None
        value = NONE if known is None else Const(known)
        self.emit("module.train" if known else "module.eval" if known is False else "module.mode", owner, node)
        self.put_in_mode(owner, value, self.site(node))
        return owner

    def put_in_mode(self, owner: Value, value: Value, site) -> None:
        """A module and all that is in it is in a mode from here on."""
        for module in self.within(owner):
            self.store.set(module, self.MODE, value)
            self.store.set(module, " mode site", site)

    def mode_of(self, owner: Value) -> bool | None:
        """True in training mode for certain, False in evaluation, None where it is not known."""
        value = self.store.get(owner, self.MODE)
        if isinstance(value, Const) and isinstance(value.value, bool):
            return value.value
        return None

    def modes_within(self, owner: Value) -> dict[int, bool | None]:
        """By id: the modes of a module and of all that is in it."""
        return {id(module): self.mode_of(module) for module in self.within(owner)}

    def mode_site(self, owner: Value):
        return self.store.get(owner, " mode site")

    def move_module(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        device: Value | None = args[0] if args else kwargs.get("device")
        if name == "cuda" and device is None:
            device = Const("cuda")
        if name == "cpu":
            device = Const("cpu")
        known = self.device_of(device) if device is not None and name in ("to", "cuda", "cpu") else None
        if known is not None:
            self.store.set(owner, " device", known)
            self.store.set(owner, " device site", self.site(node))
        self.move_registered(owner)
        self.emit("module.move", owner, node, name=name, device=known)
        return owner

    def move_registered(self, owner: Instance) -> None:
        """The buffers of a module and of all that is in it are no longer where they were assigned."""
        names: dict[int, list[str]] = {}
        for module_id, name in sorted(self.buffers):
            names.setdefault(module_id, []).append(name)
        for module in self.within(owner):
            self.store.set(module, " moved", TRUE)
            if isinstance(getattr(module, "cls", None), Class) and module.cls.method("_apply") is not None:
                self.move_contents(module)  # a method of its own that moves what torch does not
            for name in names.get(id(module), ()):
                value = self.store.get(module, name)
                if isinstance(value, Value):
                    self.store.set(module, name, self.placed_by_module(value, name))

    def loss_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        return self.module_method(owner, name, args, kwargs, node)

    # -- optimizers, schedulers, scalers, loaders -------------------------------------------------------------------------

    def optimizer_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if name == "step":
            closure = args[0] if args else kwargs.get("closure")
            for alt in real(closure):
                if isinstance(alt, (Func, Method)):
                    self.call_value(alt, [], {}, node)
            self.emit("optimizer.step", owner, node, closure=closure)
            return NONE
        if name == "zero_grad":
            self.emit("optimizer.zero_grad", owner, node)
            return NONE
        if name == "add_param_group":
            self.emit("optimizer.add", owner, node, params=args[0] if args else None)
            return NONE
        if name == "load_state_dict":
            self.emit("load", owner, node, args=args, state=args[0] if args else None)
            return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner, frozenset({"load_result"}))
        if name == "state_dict":
            return Opaque("state_dict", "call", self.site(node), NOTHING, NOTHING, owner, frozenset({"optimizer_state"}))
        return self.unknown_call(name, args, kwargs, node, owner)

    def scheduler_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if name == "step":
            self.emit("scheduler.step", owner, node, args=[*args, *kwargs.values()])
            return NONE
        tag = {"state_dict": "scheduler_state", "load_state_dict": "load_result"}.get(name)
        return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner, frozenset({tag}) if tag else NOTHING)

    def scaler_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        first = args[0] if args else None
        if name == "scale":
            self.emit("scaler.scale", owner, node, value=first)
            if first is None:
                return Opaque("scaled", "op")
            made = Tensor("", "op", self.site(node), first.flows, union_of((frozenset({first}), first.parts)), first)
            made.traits["scaled"] = owner
            return made
        if name == "step":
            for closure in real(args[1] if len(args) > 1 else kwargs.get("closure")):
                if isinstance(closure, Func):
                    self.call_value(closure, [], {}, node)
            self.emit("scaler.step", owner, node, optimizer=first)
            for alt in real(first):
                self.emit("optimizer.step", alt, node, closure=None, scaler=owner)
            return NONE
        if name == "unscale_":
            self.emit("scaler.unscale", owner, node, optimizer=first)
            return NONE
        if name == "update":
            self.emit("scaler.update", owner, node)
            return NONE
        return Opaque(name, "call", None, NOTHING, NOTHING, owner, frozenset({"scaler_state"}) if name == "state_dict" else NOTHING)

    def sampler_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if name == "set_epoch":
            self.emit("sampler.set_epoch", owner, node)
            return NONE
        return Opaque(name, "call")

    def loader_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if name == "set_epoch":
            self.emit("sampler.set_epoch", owner, node)
        if name == "__iter__":
            return Iter("same", owner, self.site(node))
        return Opaque(name, "call")

    def context_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        if name == "enter_context" and args:
            return self.enter(args[0], node)
        if name == "__enter__":
            return self.enter(owner, node)
        return Opaque(name, "call")

    def device_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        return Opaque(name, "call")

    def dataset_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        return Opaque(name, "call", None, NOTHING, NOTHING, owner)

    # -- contexts -----------------------------------------------------------------------------------------------------------

    def enter(self, value: Value, node: cst.CSTNode) -> Value:
        """Enters a `with` block; what `as` binds."""
        alts = real(value)
        alt = alts[0] if len(alts) == 1 else None
        if isinstance(alt, Instance) and alt.kind == "context":
            kind = self.store.get(alt, " kind", "other")
            known = self.store.get(alt, " value")
            if kind == "grad":
                self.pending_grad = None
            self.contexts.append(self.Context(kind, alt.site, known if kind == "grad" else alt))
            return alt
        if isinstance(alt, Instance) and alt.kind == "device":
            self.contexts.append(self.Context("device", self.site(node), alt))
            return alt
        if isinstance(alt, Ref):
            self.emit("enter.uncalled", alt, node)
        if isinstance(alt, Iter) and alt.kind == "generator" or isinstance(alt, (Ref, Func)):
            self.contexts.append(self.Context("grad", self.site(node), None))
            return Opaque("context", "call")
        if isinstance(alt, Opaque) and ("foreign" in alt.tags or "file" in alt.tags):
            return Opaque("file", "call", tags=frozenset({"foreign"}))
        if isinstance(alt, Opaque) and alt.source == "call" and re.search(r"tqdm|open|profile|timer|record|Pool|summary|progress", alt.name):
            return Opaque(alt.name, "call", tags=alt.tags)
        if alts and all(isinstance(a, Instance) and a.kind == "context" for a in alts):
            self.pending_grad = None
            settings = {(self.store.get(a, " kind", "other"), self.store.get(a, " value")) for a in alts}
            kinds = {kind for kind, _ in settings}
            if len(settings) == 1 or "grad" not in kinds:
                kind, setting = next(iter(settings))
                if "autocast" in kinds:  # where mixed precision is asked for, it is this one
                    kind, kinds = "autocast", {"autocast"}
                self.contexts.append(self.Context(kind if len(kinds) == 1 else "other", self.site(node), setting if kind == "grad" else None))
                return alts[0]
        self.contexts.append(self.Context("unknown", self.site(node), alt))
        return Opaque("context", "call", None, NOTHING, NOTHING, alt)

    def grad_state(self):
        """Whether autograd records here: (True, False or None where it is not known, the place that says so)."""
        for context in reversed(self.contexts):
            if context.kind == "grad":
                return context.value, context.site
            if context.kind == "unknown":
                return None, context.site
        switched = self.store.get(self.graph_key, "grad", (True, None))
        return switched if switched is not None else (None, None)  # switched on some paths only

    # -- tensors ------------------------------------------------------------------------------------------------------------

    def tensor_method(self, owner: Tensor, name: str, args, kwargs, node) -> Value:
        site = self.site(node)
        given = [*args, *kwargs.values()]
        flows = union_of([owner.flows, *(value.flows for value in given)])
        parts = union_of([frozenset({owner}), owner.parts, *(with_parts(v) for v in given if isinstance(v, Opaque))])
        if name == "backward":
            return self.backward(owner, args, kwargs, node)
        if name in ("items", "keys"):  # of what is called `data` of an output, say: a dict, and no tensor after all
            return Opaque(name, "call", site, flows, NOTHING)
        if name in effects.INDEXED and (args or kwargs):
            self.emit("index", owner, node, name=name, index=args[1] if len(args) > 1 else kwargs.get("index"))
        if name in effects.LEAVES_TORCH:
            self.emit("readout", owner, node, name=name)
            return Opaque(name, "call", None, NOTHING, NOTHING, owner, frozenset({"number"}))
        if name in effects.ACTIVATIONS:
            return self.activated(effects.ACTIVATIONS[name], owner, node, flows, parts)
        if name == "log" and owner.traits.get("act") == "softmax":
            self.emit("log", owner, node)
            return owner.with_(site, act="log_softmax")
        if name == "requires_grad_":
            given = args[0] if args else kwargs.get("requires_grad", TRUE)
            return self.switch_grad(owner, boolean(given), node, node.func.value if isinstance(node.func, cst.Attribute) else None)
        if name in effects.INPLACE:
            self.emit("inplace", owner, node, method=name, value=args[0] if args else None)
            if owner.traits.get("grad_of") is not None and name in ("zero_", "fill_"):
                self.emit("optimizer.zero_grad", owner.traits["grad_of"], node)
            return owner
        if name == "type" and args:
            return self.typed(owner, args[0], site)
        if name in ("float", "contiguous", "cpu") and owner.traits.get("param") and owner.traits.get("leaf"):
            return owner  # nothing to change: a Parameter gives itself back
        if name in ("to", "cuda", "cpu"):
            device = args[0] if args else kwargs.get("device")
            if name != "to" and device is None:
                device = Const(name)
            known = self.device_of(device) if device is not None else None
            if isinstance(known, (Tensor, Ref)) or known is None:
                made = owner.with_(site, device=None, leaf=None, out_of=None)
            else:
                made = owner.with_(site, device=known, leaf=None)
            made.traits.pop("made", None)
            return made
        if name in ("detach", "detach_", "data"):
            made = owner.with_(site, graph=False, leaf=None)
            made.flows, made.parts = NOTHING, NOTHING
            made.traits["detached"] = owner
            return made
        if name == "clone":
            return owner.with_(site, leaf=None, param=None)
        if name in ("transpose", "permute", "t", "swapaxes", "swapdims", "movedim"):
            made = owner.with_(site, leaf=None, layout=None, rank=owner.traits.get("rank"))
            # Twice out of order may be in order again, and a dimension of size 1 has no place in memory.
            if "layout" not in owner.traits and not self.has_size_one(owner):
                made.traits["layout"] = (name, args)
                made.sites["layout"] = site
            return made
        if name in ("expand", "expand_as"):
            return owner.with_(site, layout=("expand", args), leaf=None)
        if name == "view":
            self.emit("view", owner, node, args=args, kwargs=kwargs)
        if name == "type_as":
            made = owner.with_(site, device=None, out_of=None)
            made.traits.pop("made", None)
            return made
        if name in ("view", "reshape"):
            sizes = self.items_of(args[0]) if len(args) == 1 and isinstance(args[0], Seq) else args
            rank = len(sizes) if sizes and (len(sizes) > 1 or number(sizes[0]) is not None) and not kwargs else None
            return owner.with_(site, layout=None, leaf=None, rank=rank)
        if name == "contiguous":
            return owner.with_(site, layout=None, leaf=None, rank=owner.traits.get("rank"))
        if name in effects.KEEPS:
            return owner.with_(site, layout=None, leaf=None)
        if name in effects.CUTS_GRAPH:
            if owner.flows:
                self.emit("readout", owner, node, name=name)
            others = [alt for value in args for alt in real(value) if isinstance(alt, Tensor)]
            return reduced(self.result_tensor(node, flows, parts, [owner, *others], cut=True), name)
        if name in ("max", "min", "topk", "sort", "median", "mode") and (args or kwargs):
            return Opaque(name, "call", site, flows, parts, owner)
        if name in ("new", "new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"):
            return Tensor("", "made", site, NOTHING, NOTHING, owner, {"graph": False})
        tensors = [owner, *(alt for value in args for alt in real(value) if isinstance(alt, Tensor))]
        if len(tensors) > 1:
            self.emit_mix(node, (owner, *(value for value in args if any(isinstance(alt, Tensor) for alt in real(value)))))
        all_known = all(isinstance(alt, (Tensor, Const)) for value in given for alt in real(value))
        return reduced(self.result_tensor(node, flows, parts, tensors, all_known=all_known), name)

    def has_size_one(self, tensor: Tensor) -> bool:
        """Whether some dimension of a tensor made here is written as 1."""
        return "made" in tensor.traits and any(number(size) == 1 for size in tensor.traits.get("sizes", ()))

    def switch_grad(self, owner: Tensor, wants: bool | None, node, target) -> Tensor:
        """x.requires_grad_(wants) or x.requires_grad = wants: what x, the target, is from now on."""
        self.emit("inplace.flag", owner, node)
        if owner.traits.get("param") or owner.traits.get("graph") is wants is not None:
            return owner
        changed = owner.with_(self.site(node), graph=wants, leaf=True if wants else None, detached=None)
        changed.source, changed.name = owner.source, owner.name
        if wants and owner.traits.get("graph") is False:
            changed.source = "made"  # a new leaf, whatever its numbers came from
        # Other names for the same object know no better than that it changes at some time.
        owner.traits.pop("graph", None)
        owner.traits.pop("detached", None)
        if type(target) in (cst.Name, cst.Attribute) and self.peek(target) is owner:
            self.assign(target, changed, quiet=True)
        return changed

    def typed(self, owner: Tensor, to: Value, site) -> Tensor:
        """x.type(...): a type of torch.cuda moves the tensor, one of torch brings it to the CPU; an unknown one may do either."""
        name = to.name if isinstance(to, Ref) else to.value if isinstance(to, Const) and isinstance(to.value, str) else ""
        if re.fullmatch(r"torch\.[a-z_]*\d*", name):  # torch.float32: a dtype
            return owner.with_(site, layout=None, leaf=None)
        made = owner.with_(site, layout=None, leaf=None, made=None, out_of=None)
        made.traits.pop("device", None)
        if name.startswith("torch.cuda."):
            made.traits["device"] = "cuda"
            made.sites["device"] = site
        return made

    def backward(self, owner: Value, args, kwargs, node) -> Value:
        """loss.backward()."""
        self.emit("backward", owner, node, flows=owner.flows, parts=union_of((frozenset({owner}), owner.parts)), framework=None,
                  kwargs=kwargs)
        return NONE

    def gather(self, owner: Seq | Dict, value: Value) -> None:
        """Notes that what a value was computed from is in a list or dict by now."""
        owner.flows = union_of((owner.flows, value.flows))
        owner.parts = union_of((owner.parts, frozenset({value}) if isinstance(value, Opaque) else NOTHING, value.parts))

    # -- lists and dicts ----------------------------------------------------------------------------------------------------

    def container_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if isinstance(owner, Seq):
            items = self.store.get(owner, "[]") or Items((), True)
            if name in ("append", "add", "appendleft", "insert") and args:
                self.emit("append", owner, node, value=args[-1])
                self.gather(owner, args[-1])
                known = items.known if args[-1] in items.known else (*items.known, args[-1])
                self.store.set(owner, "[]", Items(known[-12:], items.open or bool(self.loops) or name != "append"))
                return NONE
            if name in ("extend", "update") and args:
                more = self.known_items(args[0])
                self.gather(owner, args[0])
                self.store.set(owner, "[]", Items((*items.known, *more)[-12:], items.open or self.items_of(args[0]) is None))
                return NONE
            if name in ("clear",):
                self.store.set(owner, "[]", Items(()))
                return NONE
            if name in ("copy",):
                return self.sequence(owner.kind, list(items.known), node, items.open)
            if name == "pop":
                self.store.set(owner, "[]", Items(items.known, True))
                return self.element(owner)
            return Opaque(name, "call")
        items = self.store.get(owner, "{}") or Items({}, True)
        if name in ("items", "values", "keys"):
            return Iter(name, owner, self.site(node)) if name != "keys" else Opaque("keys", "call")
        if name in ("get", "pop", "setdefault") and args:
            value = items.known.get(args[0].value) if isinstance(args[0], Const) and args[0].value.__hash__ else None
            if value is not None:
                return value
            default = args[1] if len(args) > 1 else NONE
            return join(Opaque(name, "item", None, NOTHING, NOTHING, owner), default) if items.open else default
        if name == "update":
            known = dict(items.known)
            if args and isinstance(args[0], Dict):
                other = self.store.get(args[0], "{}") or Items({}, True)
                known.update(other.known)
                self.store.set(owner, "{}", Items(known, items.open or other.open))
            else:
                known.update(kwargs)
                self.store.set(owner, "{}", Items(known, items.open or bool(args)))
            return NONE
        if name == "copy" and isinstance(owner, Dict):
            return self.mapping(dict(items.known), node, items.open)
        return Opaque(name, "call")

    # -- what only its use tells ----------------------------------------------------------------------------------------------

    def tag(self, value: Value, tag: str) -> None:
        if isinstance(value, Opaque):
            value.tags |= {tag}

    def opaque_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """A method of something unknown: what it is follows from what it is asked to do."""
        called = owner.name if isinstance(owner, Opaque) else owner.cls.name
        tags = owner.tags if isinstance(owner, Opaque) else NOTHING
        if name == "backward":
            first = args[0] if args else kwargs.get("loss")
            if first is not None and (first.flows or FRAMEWORK_NAME.search(called)) and not owner.flows:
                self.emit("backward", first, node, flows=first.flows, parts=union_of((frozenset({first}), first.parts)),
                          framework=owner, kwargs=kwargs)
                return NONE
            if kwargs and owner.flows:  # what came out of a model and goes backward is a tensor
                self.emit_keywords("torch.Tensor.backward", kwargs, node)
            return self.backward(owner, args, kwargs, node)
        if name == "step":
            if "optimizer" in tags or OPTIMIZER_NAME.search(called) and not SCHEDULER_NAME.search(called):
                self.tag(owner, "optimizer")
                return self.optimizer_method(owner, name, args, kwargs, node)
            if SCHEDULER_NAME.search(called):
                self.tag(owner, "scheduler")
                return self.scheduler_method(owner, name, args, kwargs, node)
            if "scaler" in tags or SCALER_NAME.search(called):
                self.tag(owner, "scaler")
                return self.scaler_method(owner, name, args, kwargs, node)
            return self.unknown_call("step", args, kwargs, node, owner)
        if name in DRIVES and DRIVER_NAME.search(called):
            return self.accelerator_method(owner, name, args, kwargs, node)
        if name in ("freeze", "unfreeze") and not args and not kwargs:
            self.store.set(owner, " frozen", TRUE if name == "freeze" else FALSE)
        if name == "zero_grad":
            self.emit("optimizer.zero_grad", owner, node)
            return NONE
        if name in ("scale", "unscale_", "update") and ("scaler" in tags or SCALER_NAME.search(called)):
            self.tag(owner, "scaler")
            return self.scaler_method(owner, name, args, kwargs, node)
        if name in ("train", "eval") and (not args or name == "train" and isinstance(args[0], Const) and isinstance(args[0].value, bool)) and not kwargs:
            self.tag(owner, "module")
            return self.set_mode(owner, name, args, kwargs, node)
        if name == "train" and len(args) + len(kwargs) == 1 and isinstance((args or list(kwargs.values()))[0], Opaque) and "module" in tags:
            return self.set_mode(owner, name, args, kwargs, node)
        if name in PARAMETER_VIEWS and not args:
            self.tag(owner, "module")
            return self.view_of(name, owner, node)
        if name in MOVES:
            of_tensor = isinstance(owner, Opaque) and owner.source == "call" and owner.name in effects.ONLY_TENSORS_GIVE
            if isinstance(owner, Opaque) and (of_tensor or owner.tags & {"batch", "batch?"} or owner.source in ("op", "item")):
                return Opaque(owner.name, "op", self.site(node), owner.flows, union_of((frozenset({owner}), owner.parts)), owner, owner.tags)
            if isinstance(owner, Opaque) and owner.source == "call":
                self.move_contents(owner)
            return owner
        if name == "state_dict":
            return Opaque("state_dict", "call", self.site(node), NOTHING, NOTHING, owner, frozenset({"state_dict"}))
        if name == "load_state_dict":
            self.emit("load", owner, node, args=args, state=args[0] if args else None)
            return Opaque("load_state_dict", "call", self.site(node), NOTHING, NOTHING, owner, frozenset({"load_result"}))
        if name == "copy" and "state_dict" in tags and not args:
            return self.shallow_copy(owner, node)
        if name == "set_epoch":
            self.emit("sampler.set_epoch", owner, node)
            return NONE
        if name == "forward":
            return self.call_opaque(owner, args, kwargs, node, direct=True) if isinstance(owner, Opaque) else self.unknown_call(name, args, kwargs, node, owner)
        given = [*args, *kwargs.values()]
        flows = union_of([owner.flows, *(value.flows for value in given)])
        parts = union_of([frozenset({owner}), owner.parts, *(frozenset({v}) for v in given if not isinstance(v, Const))])
        if name in effects.LEAVES_TORCH:
            self.emit("readout", owner, node, name=name)
            return Opaque(name, "call", None, NOTHING, NOTHING, owner, frozenset({"number"}))
        if name in ("softmax", "log_softmax", "sigmoid"):
            return self.activated(effects.ACTIVATIONS[name], owner, node, flows, parts)
        if name in ("detach", "detach_"):
            return Tensor(owner.name if isinstance(owner, Opaque) else "", "op", self.site(node), NOTHING, NOTHING, owner, {"graph": False, "detached": owner})
        if name == "requires_grad_":
            return owner
        if name in effects.CUTS_GRAPH and name in ("argmax", "argmin", "long", "eq"):
            if owner.flows:
                self.emit("readout", owner, node, name=name)
            return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner)
        if name in ("transpose", "permute", "t"):
            made = Tensor(owner.name if isinstance(owner, Opaque) else "", "op", self.site(node), flows, parts, owner)
            if name == "permute" or "torch?" in tags or flows:
                made.traits["layout"] = (name, args)
                made.sites["layout"] = self.site(node)
                return made
            return Opaque(name, "call", self.site(node), flows, parts, owner)
        if name == "view" and len(args) > 1 and any(isinstance(number(arg), int) for arg in args):
            made = Tensor("", "op", self.site(node), flows, parts, owner)  # ndarray.view takes no sizes
            return self.method_shape(name, made, args, kwargs, Tensor("", "op", self.site(node), flows, parts, owner, {"rank": len(args)}), node)
        if name in effects.PURE_TENSOR_ONLY or name in effects.KEEPS:
            if name in ("unsqueeze", "permute", "contiguous", "expand_as", "view_as", "masked_fill", "type_as"):
                return Tensor("", "op", self.site(node), flows, parts, owner)
            return Opaque(name, "op", self.site(node), flows, parts, owner)
        if name in ("append", "add", "extend", "insert") and args:
            self.emit("append", owner, node, value=args[-1])
            for arg in args:
                self.register(arg)
            return NONE
        if name in effects.INPLACE:
            self.emit("inplace", owner, node, method=name, value=args[0] if args else None)
            return owner
        if name in ("items", "values"):
            return Iter(name, owner, self.site(node))
        if name == "__init__":
            return NONE
        return self.unknown_call(name, args, kwargs, node, owner)

    # -- events that several places make ----------------------------------------------------------------------------------------

    def emit_mix(self, node, values, module: Value | None = None, chosen: bool = False) -> None:
        """Several tensors meet in one operation: of interest where the device of one of them is known. `chosen`: one or
        another of them, not all."""
        if self.unsure:
            return
        if any(isinstance(alt, Tensor) and alt.traits.get("device") is not None for value in values for alt in real(value)):
            self.emit("mix", module, node, values=values, chosen=chosen)

    def emit_call(self, name: str, args, kwargs, node) -> None:
        if name in self.watched_calls:
            owner, home = (self.frame.self_value, self.frame.home) if self.frame is not None else (None, None)
            unit = self.frame.func.unit if self.frame is not None and self.frame.func is not None else None
            inside = isinstance(owner, Instance) and owner.kind == "module" and not (unit is not None and "classmethod" in unit.decorators)
            of_module = inside and home is not None and self.kind_of_class(home) == "module"  # not of a class that is mixed in
            self.emit("call", None, node, name=name, args=args, kwargs=kwargs, in_module=inside, of_module=of_module)
        if kwargs:
            self.emit_keywords(name, kwargs, node)

    def emit_keywords(self, name: str, kwargs, node) -> None:
        """Something of torch is called with keywords that it does not take."""
        known = keywords(name)
        if known is None or self.unsure:
            return
        unknown = [word for word in kwargs if word not in known and word[:1] != "*"]
        if unknown:
            self.emit("keywords", None, node, name=name, unknown=unknown)

    def emit_bare(self, node: cst.BaseExpression, value: Value) -> None:
        """A statement that is only an expression."""
        if isinstance(node, cst.Attribute):
            self.emit("bare", value, node, name=node.attr.value, owner=self.peek(node.value))
        elif isinstance(node, cst.Call) and self.last_call is not None:
            owner, name, args = self.last_call
            if isinstance(node.func, cst.Attribute) and node.func.attr.value == name or isinstance(node.func, cst.Name):
                if self.pending_grad is not None:
                    self.store.set(self.graph_key, "grad", self.pending_grad)
                    self.pending_grad = None
                self.emit("discarded", value, node, name=name, owner=owner, args=args)

    def emit_assign(self, target, value: Value, node) -> None:
        """A name or attribute is bound: of interest for tensors, modules and what was taken from them."""
        if node is None:
            return
        if isinstance(value, (Tensor, Union)) or isinstance(value, Instance) and value.kind in ("module", "wrapper") or (
            isinstance(value, Opaque) and (value.tags or value.source == "op")
        ) or isinstance(value, (Seq, Dict)):
            operands = self.last_operands or (None,)
            own = operands[0] is not None and operands[0] is getattr(node, "value", None)
            self.emit("assign", value, node, target=target, operands=operands[1:] if own else ())


_KINDS = {"wrapper": "module"}


def reduced(made: Tensor, name: str) -> Tensor:
    """A result that may have no dimensions left: such a tensor meets those of any device."""
    if name in effects.REDUCES and "device" in made.traits:
        made.traits["maybe0"] = True
    return made
