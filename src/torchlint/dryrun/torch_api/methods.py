"""What methods do, by what the receiver is; those of a tensor, a module, ... stand in the files of that name."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.torch_api.contexts import Contexts
from torchlint.dryrun.torch_api.devices import Devices
from torchlint.dryrun.torch_api.modules import REGISTERS, Modules
from torchlint.dryrun.torch_api.optimizers import Optimizers
from torchlint.dryrun.torch_api.tensors import Tensors
from torchlint.dryrun.torch_api.unknown import Unknown
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    OF_A_GPU,
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
    Value,
    real,
    says_cuda,
    union_of,
)


class Methods(Tensors, Devices, Modules, Optimizers, Contexts, Unknown):
    """The part of a run that knows methods. See `interpreter.Run` for the state it works on."""

    def call_method(self, owner: Value, name: str, args, kwargs, node: cst.CSTNode) -> Value:
        """Calls `owner.name(...)`."""
        set_value = self.store.get(owner, name)
        if set_value is not None and not isinstance(owner, (Ref, ProjectModule)) and not (isinstance(set_value, Opaque) and set_value.origin is owner):
            return self.each(real(set_value), lambda alt: self._call_kept(alt, owner, name, args, kwargs, node), forward=True)
        return self._call_own(owner, name, args, kwargs, node)

    def _call_kept(self, kept: Value, owner: Value, name: str, args, kwargs, node: cst.CSTNode) -> Value:
        """Calls what is kept under a name on an object. After `self.forward = self.forward` that is the method of its class."""
        if isinstance(kept, Method) and kept.owner is owner and kept.name == name:
            return self._call_own(owner, name, args, kwargs, node)
        return self.call_value(kept, args, kwargs, node)

    def _call_own(self, owner: Value, name: str, args, kwargs, node: cst.CSTNode) -> Value:
        """Calls a method that nobody has put another in the place of."""
        if isinstance(owner, (Ref, ProjectModule, Class)):
            value = self.attribute(owner, name, node)
            if isinstance(owner, Class) and isinstance(value, Func) and value.unit is not None and "classmethod" in value.unit.decorators:
                return self.inline(value, [owner, *args], kwargs, node)
            if name == "__init__" and args and isinstance(args[0], Instance):
                return self.base_init(owner, value, args, kwargs, node)
            return self.each(real(value), lambda alt: self.call_value(alt, args, kwargs, node), forward=True)
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
            return self.element(owner) if name in ("__next__", "next") and not args else Opaque(name, "call")
        if isinstance(owner, Const):
            tags = OF_A_GPU if name == "format" and says_cuda(owner) else frozenset({"str"})
            return Opaque(name, "call", None, NOTHING, NOTHING, None, tags)
        if isinstance(owner, Method):
            return Opaque(name, "call", None, owner.flows)
        return self.unknown_call(name, args, kwargs, node, owner)

    def base_init(self, base: Value, value: Value, args, kwargs, node) -> Value:
        """Base.__init__(self, ...)."""
        if isinstance(value, Func):
            return self.inline(value, args, kwargs, node, args[0])
        self.emit("super.init", args[0], node, home=base, args=args[1:], kwargs=kwargs)
        return NONE

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
                self.emit("super.init", instance, node, home=owner.home, args=args, kwargs=kwargs)
                if any(base == "torch.nn.Sequential" for base in instance.cls.externals()):
                    given = self.given_items(args, kwargs, node)
                    self.store.set(instance, "[]", given)
                    for item in given.known:
                        self.adopt(instance, item)
                return NONE
            if instance.kind == "module" and (name in ("train", "eval") or name in REGISTERS):
                return self.module_method(instance, name, args, kwargs, node)
        own = [*instance.args, *instance.kwargs.values()] if isinstance(instance, Instance) else []
        flows = union_of(arg.flows for arg in (*args, *own))
        return Opaque(name, "call", self.site(node), flows, NOTHING, instance)

    # -- objects of which little is to know -----------------------------------------------------------------------

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

    def device_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        return Opaque(name, "call")

    def dataset_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        return Opaque(name, "call", None, NOTHING, NOTHING, owner)


_KINDS = {"wrapper": "module"}
