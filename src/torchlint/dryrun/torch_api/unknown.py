"""Calls and methods of what is not known: only what it is asked to do tells what it is."""

from __future__ import annotations

import re

from torchlint.catalogue import effects
from torchlint.catalogue.protocols import DRIVER_NAME, DRIVES, GROWS
from torchlint.dryrun.torch_api.devices import OF_THE_CPU, type_name
from torchlint.dryrun.torch_api.hosted import is_table
from torchlint.dryrun.torch_api.modules import MOVES, PARAMETER_VIEWS
from torchlint.dryrun.torch_api.names import FRAMEWORK_NAME, OPTIMIZER_NAME, SCALER_NAME, SCHEDULER_NAME
from torchlint.dryrun.torch_api.vision_samples import is_transformed
from torchlint.dryrun.values import (
    FALSE,
    NONE,
    NOTHING,
    TRUE,
    Const,
    Instance,
    Iter,
    Opaque,
    Tensor,
    Value,
    boolean,
    number,
    union_of,
    with_parts,
)


class Unknown:
    """The part of a run that guesses what a value is by its use. See `interpreter.Run` for the state it works on."""

    def tag(self, value: Value, tag: str) -> None:
        if isinstance(value, Opaque) and tag not in value.tags:
            value.tags |= {tag}
            self.plain.look_again()

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
            if "scheduler" in tags or SCHEDULER_NAME.search(called):
                self.tag(owner, "scheduler")
                return self.scheduler_method(owner, name, args, kwargs, node)
            if "scaler" in tags or SCALER_NAME.search(called):
                self.tag(owner, "scaler")
                return self.scaler_method(owner, name, args, kwargs, node)
            return self.unknown_call("step", args, kwargs, node, owner)
        if name in DRIVES and DRIVER_NAME.search(called):
            return self.accelerator_method(owner, name, args, kwargs, node)
        if name in GROWS:
            self.grown(owner, name, args, kwargs, node)
        if is_table(owner):
            made = self.table_method(owner, name, args, kwargs, node)
            if made is not None:
                return made
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
        if name == "type" and len(args) == 1 and OF_THE_CPU.fullmatch(type_name(args[0])) and isinstance(owner, Opaque) and owner.source in ("op", "item"):
            site, parts = self.site(node), union_of((frozenset({owner}), owner.parts))
            return Tensor("", "op", site, owner.flows, parts, owner, {"device": "cpu"}, {"device": site})
        if name in MOVES:
            of_tensor = isinstance(owner, Opaque) and owner.source == "call" and (owner.name in effects.ONLY_TENSORS_GIVE or is_transformed(owner))
            of_tensor = of_tensor or isinstance(owner, Opaque) and owner.source == "attr" and owner.name == "data" and id(owner.origin) in self.moved
            if isinstance(owner, Opaque) and (of_tensor or owner.tags & {"batch", "batch?"} or owner.source in ("op", "item")):
                made = Opaque(owner.name, "op", self.site(node), owner.flows, union_of((frozenset({owner}), owner.parts)), owner, owner.tags)
                self.note_moved(owner, made, name, args, kwargs)
                return made
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
            if "loaded" in tags:
                self.tag(owner, "module")
            return self.call_opaque(owner, args, kwargs, node, direct=True) if isinstance(owner, Opaque) else self.unknown_call(name, args, kwargs, node, owner)
        kept = self.store.get(owner, name) if isinstance(owner, Opaque) else None
        if type(kept) is Opaque and "module" in kept.tags:  # `wrapped.model(x)`, behind `wrapped.model.eval()`
            return self.call_opaque(kept, args, kwargs, node)
        given = [*args, *kwargs.values()]
        if isinstance(owner, Instance) and owner.kind == "instance":  # a distribution, say, computes with what it was made of
            given += [*owner.args, *owner.kwargs.values()]
        flows = union_of([owner.flows, *(value.flows for value in given)])
        parts = union_of([frozenset({owner}), owner.parts, *(frozenset({v}) for v in given if not isinstance(v, Const))])
        if name == "sample" and isinstance(owner, Opaque) and (owner.name or "").startswith("torch.distributions."):
            self.emit("sampled", owner, node)  # it draws without gradients; `rsample` draws with them
            return Tensor("", "op", self.site(node), NOTHING, NOTHING, owner, {"graph": False, "detached": owner})
        if name in effects.LEAVES_TORCH:
            self.emit("readout", owner, node, name=name)
            return Opaque(name, "call", None, NOTHING, NOTHING, owner, effects.LEAVES_TORCH[name])
        if name in ("softmax", "log_softmax", "sigmoid"):
            return self.activated(effects.ACTIVATIONS[name], owner, node, flows, parts)
        if name in ("detach", "detach_"):
            return Tensor(owner.name if isinstance(owner, Opaque) else "", "op", self.site(node), NOTHING, NOTHING, owner, {"graph": False, "detached": owner})
        if name == "requires_grad_":
            self.emit("module.freeze", owner, node, wants=boolean(args[0] if args else kwargs.get("requires_grad", TRUE)))
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
        if name == "topk":
            return Opaque(name, "call", self.site(node), flows, parts, owner, frozenset({"torch?"}))
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

    def opaque_result(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """An unknown method of a known object: its result came out of the object and the arguments."""
        if isinstance(owner, Instance) and owner.kind in ("module", "wrapper"):
            grad, grad_site = self.grad_state()
            event = self.emit("forward", owner, node, mode=self.mode_of(owner), mode_site=self.mode_site(owner), grad=grad,
                              grad_site=grad_site, args=args, kwargs=kwargs, direct=False, method=name, inside=self.inside_module(owner))
            flows = union_of([*(arg.flows for arg in args), frozenset({event})])
            return Opaque(name, "call", self.site(node), flows, NOTHING, owner)
        return self.unknown_call(name, args, kwargs, node, owner)

    def call_opaque(self, callee: Opaque, args, kwargs, node, direct: bool = False) -> Value:
        """Calls a value of which nothing certain is known: perhaps a model, perhaps a loss."""
        made = (self.made_elsewhere(callee.name, args, kwargs, node) or self.shown(callee.name, args, node)) if args or kwargs else None
        if made is not None:
            return made
        moved = callee.source == "op" and callee.origin is not None  # `checkpoint["model"].cuda()`: what is called is no tensor
        if callee.source in ("param", "attr", "item", "call", "global") or moved or callee.source == "join" and "module" in callee.tags:
            grad, grad_site = self.grad_state()
            values = [*args, *kwargs.values()]
            event = self.emit("forward", callee, node, mode=self.mode_of(callee), mode_site=self.mode_site(callee), grad=grad,
                              grad_site=grad_site, args=args, direct=direct, inside=self.inside_module(callee),
                              frozen=self.store.get(callee, " frozen"))
            flows = union_of([*(value.flows for value in values), frozenset({event})])
            parts = union_of(with_parts(value) for value in values if not isinstance(value, Const))
            if re.search(r"zero|grad|reset|clear|step|train|optim|backward|closure", callee.name or ""):
                self.emit("unknown", callee, node, name=callee.name, args=values)
            else:
                self.emit("called", callee, node, name=callee.name, args=values)
            return Opaque(callee.name, "call", self.site(node), flows, parts, callee)
        return self.unknown_call(callee.name, args, kwargs, node, callee)
