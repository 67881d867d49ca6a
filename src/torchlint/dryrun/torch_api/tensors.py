"""What methods of tensors give, and what is known of a tensor that is computed from others."""

from __future__ import annotations

import libcst as cst

from torchlint.catalogue import effects
from torchlint.dryrun.torch_api.devices import reduced
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    TRUE,
    Const,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Value,
    boolean,
    number,
    real,
    union_of,
    with_parts,
)


class Tensors:
    """The part of a run that knows tensors. See `interpreter.Run` for the state it works on."""

    def tensor_method(self, owner: Tensor, name: str, args, kwargs, node) -> Value:
        site = self.site(node)
        given = [*args, *kwargs.values()]
        flows = union_of([owner.flows, *(value.flows for value in given)])
        parts = union_of([frozenset({owner}), owner.parts, *(with_parts(alt) for v in given for alt in real(v) if isinstance(alt, Opaque))])
        if name == "backward":
            return self.backward(owner, args, kwargs, node)
        if name in ("items", "keys"):  # of what is called `data` of an output, say: a dict, and no tensor after all
            return Opaque(name, "call", site, flows, NOTHING)
        if name in effects.INDEXED and (args or kwargs):
            self.emit("index", owner, node, name=name, index=args[1] if len(args) > 1 else kwargs.get("index"))
        if name in effects.LEAVES_TORCH:
            self.emit("readout", owner, node, name=name)
            return Opaque(name, "call", None, NOTHING, NOTHING, owner, effects.LEAVES_TORCH[name])
        if name in effects.ACTIVATIONS:
            self.rewritten(name, owner)
            return self.activated(effects.ACTIVATIONS[name], owner, node, flows, parts)
        if name == "log" and owner.traits.get("act") == "softmax":
            self.emit("log", owner, node)
            return owner.with_(site, act="log_softmax")
        if name == "requires_grad_":
            given = args[0] if args else kwargs.get("requires_grad", TRUE)
            return self.switch_grad(owner, boolean(given), node, node.func.value if type(node.func) is cst.Attribute else None)
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
                made = owner.with_(site, device=None, leaf=None, out_of=None, beside=None, compared=None, lies_with=None)
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
            made = owner.with_(site, device=None, out_of=None, beside=None, compared=None, lies_with=None)
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
            if name == "multinomial":
                self.emit("sampled", owner, node)
            others = [alt for value in args for alt in real(value) if isinstance(alt, Tensor)]
            cut = reduced(self.result_tensor(node, flows, parts, [owner, *others], cut=True), name)
            if not others and owner.traits.keys() & {"dim0", "maybe0"}:
                cut.traits["maybe0"] = True  # `label.long()` has the dimensions of `label`
            return _laid_out(cut, owner, name)
        if name in effects.PAIRS and (args or kwargs):
            return Opaque(name, "call", site, flows, parts, owner)
        if name in ("new", "new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"):
            return Tensor("", "made", site, NOTHING, NOTHING, owner, {"graph": False})
        tensors = [owner, *(alt for value in args for alt in real(value) if isinstance(alt, Tensor))]
        if len(tensors) > 1:
            self.emit_mix(node, (owner, *(value for value in args if any(isinstance(alt, Tensor) for alt in real(value)))))
        all_known = all(isinstance(alt, (Tensor, Const)) for value in given for alt in real(value))
        made = self.result_tensor(node, flows, parts, tensors, all_known=all_known)
        return _laid_out(reduced(self.lies_beside(made, (owner,)), name), owner, name)

    def has_size_one(self, tensor: Tensor) -> bool:
        """Whether some dimension of a tensor made here is written as 1."""
        return "made" in tensor.traits and any(number(size) == 1 for size in tensor.traits.get("sizes", ()))

    def switch_grad(self, owner: Tensor, wants: bool | None, node, target) -> Tensor:
        """x.requires_grad_(wants) or x.requires_grad = wants: what x, the target, is from now on."""
        self.emit("inplace.flag", owner, node, wants=wants)
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

    def backward(self, owner: Value, args, kwargs, node) -> Value:
        """loss.backward()."""
        self.emit("backward", owner, node, flows=owner.flows, parts=union_of((frozenset({owner}), owner.parts)), framework=None,
                  kwargs=kwargs)
        return NONE

    def result_tensor(self, node, flows, parts, tensors, cut: bool = False, all_known: bool = False) -> Tensor:
        """A new tensor computed from others; `all_known` tells that there are no others."""
        traits = {}
        if cut:
            traits["graph"] = False
            traits["cut_of"] = tensors[0] if tensors else None
            flows, parts = NOTHING, NOTHING
        elif any(isinstance(t, Tensor) and t.traits.get("graph") for t in tensors):
            traits["graph"] = True
        elif all_known and all(isinstance(t, Tensor) and t.traits.get("graph") is False for t in tensors):
            traits["graph"] = False
        devices = {t.traits.get("device") for t in tensors if isinstance(t, Tensor)}
        sites: dict = {}
        if tensors and len(devices) == 1 and None not in devices:
            traits["device"] = devices.pop()
            self.still_made(tensors, traits, sites)
        return Tensor("", "op", self.site(node), flows, parts, None, traits, sites)

    def rewritten(self, name: str, owner: Value | None) -> None:
        """sigmoid_(), relu_(): what holds the tensor under another name has other numbers from now on."""
        if name.endswith("_") and isinstance(owner, Tensor):
            owner.traits["rewritten"] = True

    def activated(self, act: str, first, node, flows, parts) -> Tensor:
        site = self.site(node)
        traits, sites = {"act": act}, {"act": site}
        for alt in real(first):
            if isinstance(alt, Tensor):
                if alt.traits.get("graph"):
                    traits["graph"] = True
                if act == "softmax" and alt.traits.get("act") == "log":
                    del traits["act"]
                if alt is first and "rank" in alt.traits:
                    traits["rank"] = alt.traits["rank"]
        return self.lies_beside(Tensor("", "op", site, flows, parts, first, traits, sites), (first,))


# What is computed value by value lies in memory as the first operand does.
_AS_IT_LIES = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "div", "logical_not"})


def _laid_out(made: Tensor, owner: Tensor, name: str) -> Tensor:
    layout = owner.traits.get("layout")
    if name in _AS_IT_LIES and isinstance(layout, tuple) and layout[0] in ("t", "transpose", "permute"):
        made.traits["layout"], made.sites["layout"] = layout, owner.sites["layout"]
    return made
