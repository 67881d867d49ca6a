"""What `owner.name` is worth, by what the owner is."""

from __future__ import annotations

import libcst as cst

from torchlint.catalogue.effects import NAMESPACES, READS
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    UNSET,
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Iter,
    Member,
    Method,
    Opaque,
    ProjectModule,
    Ref,
    Seq,
    Super,
    Tensor,
    Union,
    Value,
    join,
    real,
)

MODULE_METHODS = frozenset(
    """train eval parameters named_parameters modules named_modules children named_children state_dict load_state_dict to cuda cpu
    half float double zero_grad requires_grad_ apply add_module register_module register_buffer register_parameter
    register_forward_hook forward buffers named_buffers append extend insert keys values items get_submodule compile
    share_memory to_empty bfloat16 type no_sync register_forward_pre_hook register_full_backward_hook set_epoch
    get_parameter extra_repr""".split()
)

_WITH_ATTRIBUTES = frozenset("module instance wrapper loss accelerator trainer settings collator".split())


class Attributes:
    """The part of a run that reads attributes. See `interpreter.Run` for the state it works on."""

    def eval_attribute(self, node: cst.Attribute) -> Value:
        owner = self.eval(node.value)
        value = self.attribute(owner, node.attr.value, node)
        if node.attr.value in READS and type(owner) is not Ref:
            self.note_method(value, node)
        return value

    def note_method(self, value: Value, node: cst.Attribute) -> None:
        """A method of a tensor that stands for itself, as what is called does not: it is kept, shown or handed on."""
        alts = real(value)
        if alts and all(type(alt) is Opaque and alt.source == "attr" and isinstance(alt.origin, Tensor) for alt in alts):
            self.emit("method.uncalled", value, node)

    def attribute(self, owner: Value, name: str, node: cst.CSTNode) -> Value:
        """The value of `owner.name`."""
        if isinstance(owner, Union):
            alts = [self.attribute(alt, name, node) for alt in self._who_may_have(name, real(owner))]
            if not alts:
                return Opaque(name, "attr")
            result = alts[0]
            for alt in alts[1:]:
                result = join(result, alt)
            return result
        if name == "training" and type(owner) is Opaque and (mode := self.mode_of(owner)) is not None:
            return Const(mode)
        found = self.store.get(owner, name)
        if found is not None and found is not UNSET:
            if found is NONE and isinstance(owner, Instance) and owner.site is None and isinstance(owner.cls, Class):
                return self.set_elsewhere(owner, name)
            return found
        if isinstance(owner, Ref):
            full = canonical(f"{owner.name}.{name}")
            if full in self.watched_calls:
                self.emit("name", None, node, name=full)
            return Ref(full)
        if isinstance(owner, ProjectModule):
            if name == "__dict__":
                return owner  # asked for its items, it gives its attributes
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
        if isinstance(owner, Member) and name in ("name", "value"):
            return Const(owner.name) if name == "name" else owner.given
        if isinstance(owner, (Seq, Dict, Iter, Func, Const)):
            return Method(owner, name) if not isinstance(owner, (Func, Const)) else Opaque(name, "attr")
        value = Opaque(name, "attr", None, owner.flows, owner.parts, owner)
        if name == "data" and owner.flows:  # a model's output: the same numbers without the graph
            value = Tensor(name, "attr", None, owner.flows, NOTHING, owner, {"graph": False})
        elif name in ("data", "grad", "shape"):
            value = Opaque(name, "attr", None, NOTHING, NOTHING, owner)
        self.base_store.set(owner, name, value)
        self.note_table_attribute(owner, name, value)
        return value

    def _who_may_have(self, name: str, owners: tuple[Value, ...]) -> tuple[Value, ...]:
        """Which of several is asked for an attribute: who asks for the `module` of a wrapper has the wrapper, and none of the models
        that may stand there unwrapped."""
        if name != "module" or not any(isinstance(owner, Instance) and owner.kind == "wrapper" for owner in owners):
            return owners
        return tuple(owner for owner in owners if not self._is_bare(owner))

    def _is_bare(self, owner: Value) -> bool:
        """Whether a value is a model that has nothing called `module`."""
        return isinstance(owner, Instance) and owner.kind == "module" and self.store.peek(owner, "module") is None and (
            not isinstance(owner.cls, Class) or owner.cls.method("module") is None
        )

    def instance_attribute(self, owner: Instance, name: str, node: cst.CSTNode) -> Value:
        if owner.kind == "dataset" and f".{name}" in self.watched_calls:
            self.emit("attribute", owner, node, name=name)
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
        if name in MODULE_METHODS and not _is_namespace(owner) or owner.kind not in _WITH_ATTRIBUTES:
            return Method(owner, name)
        tags = frozenset({"module?"}) if owner.kind == "module" and not isinstance(owner.cls, Class) else NOTHING
        value = Opaque(name, "attr", None, NOTHING, NOTHING, owner, tags)
        self.base_store.set(owner, name, value)
        return value

    def tensor_attribute(self, owner: Tensor, name: str, node: cst.CSTNode) -> Value:
        if name == "data":
            made = owner.with_(self.site(node), graph=False, leaf=None, alias=owner)
            return self.with_shape(made, self.shape_of(owner), owner.sites.get("shape"))
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


def _is_namespace(owner: Instance) -> bool:
    """Whether an object has no methods, only what was set on it."""
    return type(owner.cls) is Ref and owner.cls.name in NAMESPACES
