"""What torch's functions give: tensors made from nothing or from others, losses, nn.utils, nn.init."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchlint.catalogue import effects
from torchlint.dryrun.torch_api.devices import on_cpu, reduced
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    TRUE,
    Const,
    Instance,
    Opaque,
    Seq,
    Tensor,
    Value,
    boolean,
    real,
    union_of,
    with_parts,
)

FUNCTIONAL = "torch.nn.functional."


class TorchFunctions:
    """The part of a run that knows torch's functions. See `interpreter.Run` for the state it works on."""

    def torch_function(self, name: str, last: str, args, kwargs, node) -> Value:
        """A function of torch that gives a tensor."""
        first = args[0] if args else kwargs.get("input", kwargs.get("tensor"))
        flows, parts = union_of(a.flows for a in [*args, *kwargs.values()]), union_of(
            with_parts(a) for a in [*args, *kwargs.values()] if isinstance(a, Opaque)
        )
        if last in effects.LOSS_FUNCTIONS and name.startswith((FUNCTIONAL, "torch." + last)):
            return self.loss_call(last, None, args, kwargs, node)
        if name.startswith(("torch.nn.init.", "torch.nn.utils.")):
            return self.utility(name, last, args, kwargs, node)
        if last in effects.CREATES and name.count(".") <= 2 and name.startswith("torch."):
            made = self.created_tensor(last, args, kwargs, node)
            if name == "torch.normal" and flows:
                self.drawn(made, next(value for value in (*args, *kwargs.values()) if value.flows), node)
            if name.startswith("torch.cuda."):
                made.traits["device"] = "cuda"
                del made.traits["made"]
            elif "out" in kwargs or "device" not in kwargs and (name.startswith("torch.sparse.") or self.made_beside(last, args, kwargs)):
                made.traits.pop("device", None)
                made.traits.pop("made", None)
            return made
        if name.startswith("torch.distributed."):
            result = Opaque(last, "call", self.site(node), tags=frozenset({"work"}))
            self.emit("collective", result, node, name=last, args=args, kwargs=kwargs)
            return result
        if name.startswith(("torch.cuda.", "torch.backends.", "torch.random.", "torch.multiprocessing", "torch.version")):
            return Opaque(last, "call", self.site(node), tags=frozenset({"foreign"}))
        softened = [alt for alt in real(first) if isinstance(alt, Tensor) and alt.traits.get("act") == "softmax"]
        if last in ("log", "log_") and softened and len(softened) == len(real(first)):
            self.emit("log", softened[0], node)
            made = softened[0].with_(self.site(node), act="log_softmax")
            made.flows = union_of(alt.flows for alt in softened)
            return made
        if last in ("cat", "stack", "hstack", "vstack", "concat") and first is not None:
            items = [alt for item in self.known_items(first) for alt in real(item)]
            acts = {item.traits.get("act") if isinstance(item, Tensor) else None for item in items}
            traits = {"act": acts.pop()} if len(acts) == 1 and None not in acts else {}
            sites = {"act": items[0].sites["act"]} if traits and "act" in items[0].sites else {}
            graph = any(isinstance(item, Tensor) and item.traits.get("graph") for item in items)
            if graph:
                traits["graph"] = True
            if items:
                self.emit_mix(node, self.known_items(first))
            if isinstance(first, Seq) and len(self.known_items(first)) == 2:
                self.last_operands = (node, *self.known_items(first))
            if any(on_cpu(item) for item in self.known_items(first)):
                traits["device"] = "cpu"  # or else it raises
            if isinstance(first, Seq) and self.is_of_known_kinds(first):
                traits["put_together"] = self.known_items(first)
            return Tensor("", "op", self.site(node), flows, parts, None, traits, sites)
        if last in effects.ACTIVATIONS and (name.startswith(FUNCTIONAL) or name.count(".") == 1):
            self.rewritten(last, first)
            return self.activated(effects.ACTIVATIONS[last], first, node, flows, parts)
        if last in effects.KEEPS and first is not None:
            return self.reshaped(first, last, args[1:], kwargs, node, flows, parts)
        if last in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
            return self.result_tensor(node, flows, parts, [first] if first else [])
        if name == "torch.is_tensor" and isinstance(first, Tensor):
            return TRUE
        if name in ("torch.is_grad_enabled", "torch.is_tensor", "torch.typename", "torch.get_default_dtype", "torch.manual_seed",
                    "torch.set_default_dtype", "torch.set_default_device", "torch.set_num_threads", "torch.set_printoptions",
                    "torch.Size"):
            return Opaque(last, "call")
        if not name.startswith(FUNCTIONAL) and name.count(".") > 1 and not name.startswith(("torch.special", "torch.linalg", "torch.fft")):
            return self.unknown_call(name, args, kwargs, node)
        tensors = [alt for arg in args for alt in real(arg) if isinstance(alt, Tensor)]
        if len(args) > 1:
            self.emit_mix(node, tuple(args))
        if last in ("max", "min", "topk", "sort", "median", "mode", "kthvalue", "unbind", "split", "chunk", "meshgrid", "where"):
            graph = {"graph": True} if any(t.traits.get("graph") for t in tensors) else {}
            if last == "where":
                return Tensor("", "op", self.site(node), flows, parts, None, graph)
            of_one = tensors[0] if len(tensors) == 1 and last in effects.PAIRS else None  # as the method of that tensor does
            return Opaque(last, "call", self.site(node), flows, parts, of_one)
        cut = last in effects.CUTS_GRAPH
        if cut and first is not None and first.flows:
            self.emit("readout", first, node, name=last)
        if last == "multinomial":
            self.emit("sampled", first, node)
        result = self.result_tensor(node, flows, parts, tensors, cut=cut)
        if cut and not tensors and isinstance(first, Opaque):
            result.traits["cut_of"] = first
        return reduced(self.lies_beside(result, () if cut else args), last)

    def drawn(self, made: Tensor, of: Value, node) -> None:
        """torch.normal(mean, std) of what a model gives: numbers that no gradient comes back from, though torch gives them a graph."""
        made.traits.pop("made", None)
        made.traits["drawn_of"] = of
        self.emit("sampled", of, node)

    def created_tensor(self, last: str, args, kwargs, node) -> Tensor:
        """A tensor made from nothing: torch.zeros(...), torch.tensor(...)."""
        site = self.site(node)
        traits: dict = {"graph": False, "made": last}
        sites = {"made": site}
        wants = boolean(kwargs.get("requires_grad"))
        if wants:
            traits.update(graph=True, leaf=True)
            sites["leaf"] = site
        elif "requires_grad" in kwargs:
            traits.pop("graph")
        if "device" in kwargs and not (isinstance(kwargs["device"], Const) and kwargs["device"].value is None):
            traits["device"] = self.device_of(kwargs["device"])
        elif last in effects.LIKE or last == "as_tensor" or "**" in kwargs:
            traits["device"] = None
        else:
            traits["device"] = self.default_device()
            sites["device"] = site
        if last in ("zeros", "ones", "empty", "rand", "randn"):
            traits["sizes"] = tuple(self.items_of(args[0]) or args) if args else ()
        if last == "tensor" and args and isinstance(args[0], Const) or last == "scalar_tensor":
            traits["dim0"] = True
        if args and last in ("tensor", "as_tensor", "from_numpy", "FloatTensor", "Tensor"):
            traits["made_of"] = self.known_items(args[0]) if isinstance(args[0], Seq) else (args[0],)
        if last in ("zeros", "ones", "empty", "rand", "randn") and len(args) == 1 and self.items_of(args[0]) == ():
            traits["dim0"] = True
        if last == "tensor" and args and not isinstance(args[0], (Const, Seq)):
            traits["maybe0"] = True
        fill = args[1] if len(args) > 1 else kwargs.get("fill_value")
        if last == "full" and isinstance(fill, Const):
            traits["filled"] = type(fill.value)
        if traits["device"] is None:
            del traits["device"]
        return Tensor("", "made", site, NOTHING, NOTHING, args[0] if args else None, traits, sites)

    def reshaped(self, first: Value, name: str, args, kwargs, node, flows, parts) -> Value:
        """A tensor whose numbers stay the same, in another shape, place or type."""
        alts = real(first)
        if alts and all(isinstance(alt, Tensor) for alt in alts):
            return self.each(alts, lambda alt: self.tensor_method(alt, name, args, kwargs, node))
        return Tensor("", "op", self.site(node), flows, parts, first)

    def utility(self, name: str, last: str, args, kwargs, node, by: Value | None = None) -> Value:
        """A function of torch.nn.utils or torch.nn.init; `by`: an Accelerator that is asked for it."""
        first = args[0] if args else kwargs.get("parameters")
        if last in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"):
            if first is None:
                return Opaque(last, "call")
            limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
            modules, tensors, complete = self.held(first)
            self.emit("clip", first, node, modules=modules, tensors=tensors, complete=complete, limit=limit, name=last, by=by)
            self.consume(first, node)
            known = complete and not tensors and last != "clip_grad_value_"
            traits, sites = self._where_gradients_are(modules) if known else ({}, {})
            return Tensor("", "call", self.site(node), NOTHING, NOTHING, None, {"graph": False, **traits}, sites)
        if last in ("spectral_norm", "weight_norm", "remove_weight_norm", "remove_spectral_norm"):
            return first if first is not None else Opaque(last, "call")
        if name.startswith("torch.nn.init."):
            self.emit("init", first, node, name=last, args=args)
            return first if first is not None else NONE
        flows = union_of(a.flows for a in args)
        return Opaque(last, "call", self.site(node), flows, union_of(frozenset({a}) for a in args))

    def _where_gradients_are(self, modules: Sequence[Value]) -> tuple[dict, dict]:
        """The device that a norm of gradients is on, which is that of the weights, and where these were put there."""
        places = [(self.store.get(module, " device"), self.store.get(module, " device site")) for module in modules]
        if len(places) != 1 or None in places[0]:
            return {}, {}
        return {"device": places[0][0], "norm": True}, {"device": places[0][1]}

    def loss_call(self, loss: str, instance: Instance | None, args, kwargs, node) -> Tensor:
        """A loss function of torch is called."""
        given = args[0] if args else kwargs.get("input")
        target = args[1] if len(args) > 1 else kwargs.get("target")
        values = [value for value in (given, target) if value is not None]
        weight = kwargs.get("weight", kwargs.get("pos_weight"))
        if instance is not None and id(instance) not in self.registered and self.store.get(instance, " device") is None:
            weight = instance.kwargs.get("weight", instance.kwargs.get("pos_weight"))
        source = given.traits.get("out_of") if isinstance(given, Tensor) and "device" not in given.traits else None
        self.emit("loss", instance, node, loss=loss, input=given, target=target, args=args, kwargs=kwargs, weight=weight, source=source,
                  shapes=(self.noted_shape(given), self.noted_shape(target)))
        flows = union_of(value.flows for value in values)
        parts = union_of(with_parts(value) for value in values if isinstance(value, Opaque))
        traits: dict = {"loss": loss}
        if _gives_a_number(*((args[2:], kwargs) if instance is None else (instance.args, instance.kwargs))):
            traits["number"] = True
        tensors = [alt for alt in real(given) if isinstance(alt, Tensor)]
        if flows or any(t.traits.get("graph") for t in tensors):
            graph = self.grad_state()[0]
            if graph is not None and any(t.traits.get("graph") for t in tensors):
                traits["graph"] = bool(graph)
        return Tensor("", "op", self.site(node), flows, parts, None, traits, {"graph": self.site(node)})


def _gives_a_number(args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
    """Whether a loss of these arguments has no dimension for certain: what may be `reduction="none"`, `reduce=False` or either, by position, has."""
    if any(isinstance(value, Const) and value.value in (False, "none") for value in args) or kwargs.keys() & {"*", "**"}:
        return False
    reduction, reduce = kwargs.get("reduction"), kwargs.get("reduce")
    said = reduction is None or isinstance(reduction, Const) and reduction.value != "none"
    return said and (reduce is None or isinstance(reduce, Const) and reduce.value is not False)
