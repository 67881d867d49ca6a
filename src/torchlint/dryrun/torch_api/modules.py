"""What methods of modules do: modes, moves, parameters, state dicts."""

from __future__ import annotations

import re

from torchlint.catalogue.protocols import GROWS
from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.devices import type_name
from torchlint.dryrun.torch_api.module_parts import ModuleParts
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
    Opaque,
    Ref,
    Seq,
    Tensor,
    Value,
    boolean,
    real,
)

PARAMETER_VIEWS = frozenset({"parameters", "named_parameters", "modules", "named_modules", "children", "named_children", "buffers",
                             "named_buffers"})
MOVES = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "to_empty", "type"})
# Methods by which a module takes something under a name: what that is, and the argument that gives it.
REGISTERS = {
    "add_module": ("module", "module"),
    "register_module": ("module", "module"),
    "register_buffer": ("buffer", "tensor"),
    "register_parameter": ("parameter", "param"),
}
# Methods of every module that are no forward, besides those that are run here.
_RUNS_NOTHING = frozenset(
    """get_submodule get_parameter get_buffer get_extra_state set_submodule set_extra_state _get_name _named_members _save_to_state_dict
    _load_from_state_dict""".split()
)
# `get_output_embeddings()`, `print_trainable_parameters()`: what the methods of models that are not seen do by their names. (But
# `get_image_features(batch)` runs the model.)
_RUNS_NOTHING_ALONE = re.compile(r"_?(?:get|set|is|has|num|count|print|enable|disable|tie|resize|save|push|gradient_checkpointing)_")


class Modules(ModuleParts):
    """The part of a run that knows modules. See `interpreter.Run` for the state it works on."""

    MODE = " mode"  # a store key that no program can write: (module, MODE) is True in training, False in evaluation

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
        if name in REGISTERS:
            word, given = REGISTERS[name]
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
                self.keep.extend(real(args[0]))
            alike = items.of_known_kinds and name in ("append", "insert", "extend") and (name != "extend" or bool(args) and self.is_of_known_kinds(args[0]))
            last = values[-1] if values and name != "insert" and self.is_at_home(owner) else None
            self.store.set(owner, "[]", Items((*items.known, *values), is_open, alike, last=last))
            for value in values:
                self.adopt(owner, value)
            return NONE
        if name in ("pop", "__delitem__") and self.store.get(owner, "[]") is not None:
            taken = self.item(owner, args[:1], node)
            self.take_layer(owner, args[0] if args else None)
            return taken
        if name in ("values", "keys", "items"):
            return Iter(name, owner, self.site(node))
        if name in ("requires_grad_", "apply", "_apply", "compile", "share_memory", "train_", "freeze"):
            if name == "requires_grad_":
                wants = boolean(args[0] if args else kwargs.get("requires_grad", TRUE))
                self.store.set(owner, " frozen", TRUE if wants is False else FALSE)
                self.emit("module.freeze", owner, node, wants=wants)
            return owner
        if name in ("forward", "__call__"):
            return self.call_module(owner, args, kwargs, node, direct=name == "forward")
        if name in _RUNS_NOTHING:
            return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner)
        if name in GROWS:
            self.grown(owner, name, args, kwargs, node)
            return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner)
        if name == "from_pretrained" and isinstance(owner.cls, Ref):
            return self.call_ref(Ref(f"{owner.type}.from_pretrained"), args, kwargs, node)
        if name.startswith("register_"):
            self.emit("hook", owner, node, name=name, in_forward=self.in_forward())
            return Opaque("handle", "call", self.site(node), NOTHING, NOTHING, owner)
        if name == "no_sync":
            return Instance(Ref("no_sync"), "context", self.site(node), args, kwargs)
        value = self.attribute(owner, name, node)
        if isinstance(value, (Instance, Func)):
            return self.call_value(value, args, kwargs, node)
        if _RUNS_NOTHING_ALONE.match(name) and all(isinstance(given, Const) for given in (*args, *kwargs.values())):
            return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner)  # without an input there is no forward
        return self.opaque_result(owner, name, args, kwargs, node)

    def loss_method(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        return self.module_method(owner, name, args, kwargs, node)

    def view_of(self, kind: str, owner: Value, node) -> Iter:
        """model.parameters() and its like: a generator that can be gone through once."""
        made = Iter(kind, owner, self.site(node), once=True)
        self.emit("iter.create", made, node)
        return made

    # -- modes ----------------------------------------------------------------------------------------------------

    def set_mode(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """model.train() and model.eval(), for the module and all that is in it."""
        given = args[0] if args else kwargs.get("mode")
        known: bool | None = name == "train"
        if name == "train" and given is not None:
            known = boolean(given) if isinstance(given, Const) else None
        value = NONE if known is None else Const(known)
        self.emit("module.train" if known else "module.eval" if known is False else "module.mode", owner, node)
        self.put_in_mode(owner, value, self.site(node))
        for module in self.one_of(owner):  # which of them is not known
            if self.mode_of(module) is not known:
                self.put_in_mode(module, NONE, self.site(node))
        return owner

    def one_of(self, owner: Value) -> list[Value]:
        """The modules of a container of which one, not known which, was taken out: `self.models[name]`."""
        if not isinstance(owner, Opaque) or owner.source != "item" or not isinstance(owner.origin, (Seq, Dict)):
            return []
        return [alt for item in self.known_items(owner.origin) for alt in real(item) if isinstance(alt, Instance) and alt.kind in ("module", "wrapper")]

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

    # -- moves ----------------------------------------------------------------------------------------------------

    def move_module(self, owner: Instance, name: str, args, kwargs, node) -> Value:
        device: Value | None = args[0] if args else kwargs.get("device")
        if name == "cuda" and device is None:
            device = Const("cuda")
        if name == "cpu":
            device = Const("cpu")
        known = self.device_of(device) if device is not None and name in ("to", "cuda", "cpu") else None
        if name == "type" and args and any(type_name(alt).startswith("torch.cuda.") for alt in real(args[0])):
            known = "cuda"
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

    def move_contents(self, owner: Value) -> None:
        """An object of unknown kind is moved: the tensors that were put on it may go along."""
        for name, value in list(self.attributes_of(owner)):
            if isinstance(value, Tensor) and "device" in value.traits:
                self.store.set(owner, name, value.with_(None, device=None, made=None))
