"""What calls of torch do: to tensors, modules, optimizers, loaders; and what the same calls mean on objects of which only
their use tells what they are."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.catalogue import effects
from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.arrays import ndarray
from torchlint.dryrun.torch_api.frameworks import Frameworks
from torchlint.dryrun.torch_api.methods import Methods, reduced
from torchlint.dryrun.torch_api.names import kind_of
from torchlint.dryrun.torch_api.shaped import Shaped
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
    Partial,
    Ref,
    Seq,
    Tensor,
    Union,
    Value,
    boolean,
    real,
    union_of,
    with_parts,
)
from torchlint.sieve.facts import Unit

FUNCTIONAL = "torch.nn.functional."


class TorchCalls(Shaped, Frameworks, Methods):
    """The part of a run that knows torch's functions and classes."""

    def tensor_method(self, owner: Tensor, name: str, args, kwargs, node) -> Value:
        """A method of a tensor, and what it makes of the sizes."""
        made = super().tensor_method(owner, name, args, kwargs, node)
        self.sizes_asked(name, owner, args, kwargs, made, node)
        return self.method_shape(name, owner, args, kwargs, made, node)

    def opaque_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        """A method of something unknown, and what it tells of the sizes."""
        made = super().opaque_method(owner, name, args, kwargs, node)
        self.sizes_asked(name, owner, args, kwargs, made, node)
        return self.seen_shape(name, owner, args, kwargs, made, node)

    # -- functions and constructors ---------------------------------------------------------------------------------

    def call_ref(self, ref: Ref, args, kwargs, node: cst.CSTNode) -> Value:
        """Calls something outside the project."""
        name = ref.name
        self.emit_call(name, args, kwargs, node)
        kind = kind_of(name)
        if kind:
            return self.construct(ref, kind, args, kwargs, node)
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, name, args, kwargs, node)
        last = name.rsplit(".", 1)[-1]
        if name.startswith("torch."):
            return self.function_shape(name, last, args, kwargs, self.torch_function(name, last, args, kwargs, node), node)
        if name.startswith(("numpy.", "random.", "math.", "os.", "time.", "logging.", "json.", "sys.")):
            for value in args:
                self.emit("readout", value, node, name=name)
            return Opaque(last, "call", None, NOTHING, NOTHING, None, frozenset({"foreign"}) | ndarray(name, kwargs))
        if last in effects.PASSES_ITEMS and args:
            return Iter("same", args[0], self.site(node))
        if name.startswith("copy."):
            if name == "copy.copy" and args and isinstance(args[0], Opaque) and "state_dict" in args[0].tags:
                return self.shallow_copy(args[0], node)
            return self.copied(args, node)
        return self.unknown_call(name, args, kwargs, node)

    def construct(self, ref: Ref, kind: str, args, kwargs, node) -> Value:
        """An object of one of torch's classes."""
        if kind == "module" and args and args[0].flows and ref.name in effects.LAYER_ACTIVATIONS:
            return self.unknown_call(ref.name, args, kwargs, node)  # nn.ReLU(x), which was to be nn.ReLU()(x)
        made = Instance(ref, kind, self.site(node), args, kwargs)
        self.made_here(made)
        if kind in ("module", "wrapper", "loss"):
            self.store.set(made, self.MODE, FALSE if ref.name.endswith("from_pretrained") else TRUE)
            self.emit_module(made, node)
            self.check_heads(made, node)
            self.fill_container(made, args)
            for value in [*args, *kwargs.values()]:
                for alt in real(value):
                    if isinstance(alt, Instance) and alt.kind in ("module", "wrapper"):
                        self.adopt(made, alt)
            if kind == "wrapper" and args:
                self.emit("wrap", made, node, module=args[0])
        elif kind == "optimizer":
            self.created_optimizer(made, node)
        elif kind == "scheduler":
            self.emit("scheduler.create", made, node, optimizer=made.arg(0, "optimizer"))
        elif kind == "sampler":
            self.emit("sampler.create", made, node)
        elif kind == "loader":
            sampler = made.arg(3, "sampler")
            made_of = made.arg(0, "dataset")
            self.emit("loader.create", made, node, sampler=sampler, dataset=made_of)
        elif kind == "dataset":
            self.emit("dataset.create", made, node)
        return made

    def made_here(self, made: Instance) -> None:
        """Notes which loops an object is made in: one that is made anew in each iteration has no past."""
        self.made_in[id(made)] = self.loops
        self.keep.append(made)

    def emit_module(self, made: Instance, node) -> None:
        """A module is built inside another module's forward, or in a method that it calls: worth an event."""
        frame = self.frame
        if node is not None and frame is not None and self.in_forward():
            if isinstance(frame.self_value, Instance) and frame.self_value.kind == "module":
                self.emit("module.create", made, node)

    def fill_container(self, made: Instance, args) -> None:
        """What is in a Sequential, ModuleList or ModuleDict from the start."""
        name = made.type
        if name == "torch.nn.Sequential":
            items: Items | None = None
            if len(args) == 1:
                inner = self.ordered_items(args[0])
                items = Items(inner) if inner is not None else None
                if items is None:
                    items = Items(tuple(args), not isinstance(args[0], Instance))
            else:
                items = Items(tuple(args), "*" in made.kwargs)
            self.store.set(made, "[]", items)
        elif name in ("torch.nn.ModuleList", "torch.nn.ParameterList"):
            inner_value = args[0] if args else None
            inner = self.items_of(inner_value) if inner_value is not None else ()
            known = inner if inner is not None else [item for alt in real(inner_value) for item in self.known_items(alt)]
            if name.endswith("ParameterList"):
                known = [self.placed_by_module(item) for item in known]
            self.store.set(made, "[]", Items(tuple(known), inner is None))
        elif name in ("torch.nn.ModuleDict", "torch.nn.ParameterDict"):
            inner_items = self.store.get(args[0], "{}") if args and isinstance(args[0], Dict) else None
            if inner_items is not None and name.endswith("ParameterDict"):
                placed = {key: self.placed_by_module(item) for key, item in inner_items.known.items()}
                inner_items = Items(placed, inner_items.open)
            self.store.set(made, "{}", inner_items or Items({}, bool(args)))
        else:
            return
        for item in self.known_items(made):
            self.adopt(made, item)
        if name == "torch.nn.Sequential" and items is not None and not items.open:
            self.check_chain(made, items.known, made.site.node if made.site is not None else None)
        for arg in args:
            for alt in real(arg):
                self.escaped.add(id(alt))  # a list given to a container of torch is registered there
                self.keep.append(alt)

    def ordered_items(self, value: Value) -> tuple[Value, ...] | None:
        """The modules of an OrderedDict([...]) or dict, in order."""
        items = self.store.get(value, "{}") if isinstance(value, (Dict, Opaque)) else None
        return tuple(items.known.values()) if items is not None and not items.open else None

    def adopt(self, owner: Value, child: Value) -> None:
        """Notes that a module is part of another."""
        self.register(child)
        alts = real(child)
        for alt in alts:
            if isinstance(alt, (Instance, Opaque)):
                self.add_child(owner, alt, sure=len(alts) == 1)

    def add_child(self, owner: Value, child: Value, sure: bool) -> None:
        family = self.children.setdefault(id(owner), [])
        if all(child is not have for have in family):
            family.append(child)
        self.keep += (owner, child)
        if sure:
            self.unsure_children.discard((id(owner), id(child)))
        else:
            self.unsure_children.add((id(owner), id(child)))

    def keep_on(self, owner: Instance, name: str, value: Value) -> None:
        """Notes that a module gets a value as an attribute: another module in it is part of it from then on."""
        self.register(value)
        old = self.store.get(owner, name)
        for alt in real(old) if isinstance(old, Value) and old is not value else ():
            if isinstance(alt, Instance):
                self.unsure_children.add((id(owner), id(alt)))
                self.replaced += 1
        alts = real(value)
        for alt in alts:
            if isinstance(alt, Instance) and alt.kind in ("module", "wrapper", "loss"):
                self.add_child(owner, alt, sure=len(alts) == 1 and alts[0] is value)
            elif type(alt) is Opaque:  # a module, if it is ever called as one
                self.add_child(owner, alt, sure=False)

    def created_optimizer(self, made: Instance, node, seen: bool = False) -> None:
        """An optimizer was built; `seen`: by an __init__ of the project, which was run and took the parameters there."""
        params = made.arg(0, "params")
        modules, tensors, complete = self.held(params) if params is not None else ((), (), False)
        if params is not None and not seen:
            self.consume(params, node)
        self.emit("optimizer.create", made, node, params=params, modules=modules, tensors=tensors, complete=complete)
        self.holds[id(made)] = (modules, tensors, complete)

    def held(self, params: Value, depth: int = 0) -> tuple[tuple[Value, ...], tuple[Value, ...], bool]:
        """The modules and tensors whose parameters a value gives, and whether that is all of it."""
        modules: list[Value] = []
        tensors: list[Value] = []
        complete = depth < 8
        alts = real(params)
        if len(alts) != 1:
            complete = False
        for alt in alts if depth < 8 else ():
            if isinstance(alt, Iter):
                if alt.kind in ("parameters", "named_parameters"):
                    modules.append(alt.base)
                    continue
                inner = self.held(alt.base, depth + 1)
                if alt.kind not in ("same",):
                    inner = (*inner[:2], False)
            elif isinstance(alt, Seq) or isinstance(alt, Instance) and alt.kind == "module":
                items = self.store.get(alt, "[]")
                known = items.known if items is not None else ()
                parts = [self.held(item, depth + 1) for item in known]
                inner = (
                    tuple(m for p in parts for m in p[0]),
                    tuple(t for p in parts for t in p[1]),
                    items is not None and not items.open and all(p[2] for p in parts),
                )
            elif isinstance(alt, Dict):
                items = self.store.get(alt, "{}")
                if items is None or "params" not in items.known:
                    return tuple(modules), tuple(tensors), False
                inner = self.held(items.known["params"], depth + 1)
            elif isinstance(alt, Tensor):
                if isinstance(alt.origin, Iter) and alt.traits.get("param"):
                    modules.append(alt.origin.base)
                    complete = False
                elif isinstance(alt.origin, Instance) and alt.origin.kind == "module":
                    modules.append(alt.origin)
                    complete = False
                else:
                    tensors.append(alt)
                continue
            else:
                for part in alt.parts:
                    if isinstance(part, Instance) and part.kind in ("module", "wrapper") or isinstance(part, Opaque) and "module" in part.tags:
                        modules.append(part)
                    elif isinstance(part, (Iter, Seq)):
                        modules.extend(self.held(part, depth + 4)[0])
                complete = False
                continue
            modules.extend(inner[0])
            tensors.extend(inner[1])
            complete = complete and inner[2]
        return tuple(dict.fromkeys(modules)), tuple(dict.fromkeys(tensors)), complete

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
            if name.startswith("torch.cuda."):
                made.traits["device"] = "cuda"
                del made.traits["made"]
            elif "device" not in kwargs and (name.startswith("torch.sparse.") or self.made_beside(last, args)):
                made.traits.pop("device", None)
                del made.traits["made"]
            return made
        if name.startswith("torch.distributed."):
            result = Opaque(last, "call", self.site(node), tags=frozenset({"work"}))
            self.emit("collective", result, node, name=last, args=args, kwargs=kwargs)
            return result
        if name.startswith(("torch.cuda.", "torch.backends.", "torch.random.", "torch.multiprocessing", "torch.version")):
            return Opaque(last, "call", self.site(node), tags=frozenset({"foreign"}))
        if last in ("log", "log_") and isinstance(first, Tensor) and first.traits.get("act") == "softmax":
            self.emit("log", first, node)
            return first.with_(self.site(node), act="log_softmax")
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
            if any(_on_cpu(item) for item in self.known_items(first)):
                traits["device"] = "cpu"  # or else it raises
            return Tensor("", "op", self.site(node), flows, parts, None, traits, sites)
        if last in effects.ACTIVATIONS and (name.startswith(FUNCTIONAL) or name.count(".") == 1):
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
            return Opaque(last, "call", self.site(node), flows, parts) if last != "where" else Tensor("", "op", self.site(node), flows, parts, None, graph)
        cut = last in effects.CUTS_GRAPH
        if cut and first is not None and first.flows:
            self.emit("readout", first, node, name=last)
        result = self.result_tensor(node, flows, parts, tensors, cut=cut)
        if cut and not tensors and isinstance(first, Opaque):
            result.traits["cut_of"] = first
        return reduced(result, last)

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

    def still_made(self, tensors, traits: dict, sites: dict) -> None:
        """What is computed from tensors made here alone was made here too."""
        if not all("made" in t.traits for t in tensors):
            return
        traits["made"] = tensors[0].traits["made"]
        sites.update({key: tensors[0].sites[key] for key in ("made", "device") if key in tensors[0].sites})
        if all(t.traits.get("dim0") for t in tensors):
            traits["dim0"] = True
        elif any(t.traits.get("maybe0") for t in tensors):
            traits["maybe0"] = True

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
        return Tensor("", "op", site, flows, parts, first, traits, sites)

    def reshaped(self, first: Value, name: str, args, kwargs, node, flows, parts) -> Value:
        """A tensor whose numbers stay the same, in another shape, place or type."""
        alts = [alt for alt in real(first)]
        if len(alts) == 1 and isinstance(alts[0], Tensor):
            return self.tensor_method(alts[0], name, args, kwargs, node)
        if alts and all(isinstance(alt, Tensor) for alt in alts):
            acts = {alt.traits.get("act") for alt in alts}
            traits = {"act": acts.pop()} if len(acts) == 1 and None not in acts else {}
            return Tensor("", "op", self.site(node), flows, parts, first, traits, dict(alts[0].sites) if traits else {})
        return Tensor("", "op", self.site(node), flows, parts, first)

    def made_beside(self, last: str, given) -> bool:
        """Whether a tensor is made where those are that it is made of, as by torch.normal(mean, std)."""
        if last in ("normal", "complex"):
            return any(not isinstance(alt, (Const, Seq)) for value in given[:2] for alt in real(value))
        if last != "tensor" or not given:
            return False
        alts = [alt for alt in real(given[0]) if isinstance(alt, Opaque)]
        return any(alt.flows or isinstance(alt, Tensor) and "made" not in alt.traits for alt in alts)

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
        if traits["device"] is None:
            del traits["device"]
        return Tensor("", "made", site, NOTHING, NOTHING, args[0] if args else None, traits, sites)

    def default_device(self):
        """Where a tensor is made when nothing is said; None where that is not known."""
        for context in reversed(self.contexts):
            if context.kind == "device":
                return self.device_of(context.value)
            if context.kind == "unknown":
                return None
        return "default"

    def device_of(self, value: Value | None):
        """What is known of a device argument: its text, or the value itself (two equal values are one device)."""
        alts = real(value)
        if len(alts) != 1:
            known = [self.device_of(alt) for alt in alts]
            return known[0] if known and isinstance(known[0], str) and known.count(known[0]) == len(known) else value
        alt = alts[0]
        if isinstance(alt, Const):
            if isinstance(alt.value, str):
                return alt.value.replace("cuda:0", "cuda")
            return f"cuda:{alt.value}" if isinstance(alt.value, int) else None
        if isinstance(alt, Instance) and alt.kind == "device":
            inner = alt.arg(0, "type")
            if isinstance(inner, Const):
                return self.device_of(inner)
            return alt
        return alt

    # -- what stands under torch.nn.utils and nn.init -----------------------------------------------------------------

    def utility(self, name: str, last: str, args, kwargs, node) -> Value:
        first = args[0] if args else kwargs.get("parameters")
        if last in ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm"):
            if first is None:
                return Opaque(last, "call")
            limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
            modules, tensors, complete = self.held(first)
            self.emit("clip", first, node, modules=modules, tensors=tensors, complete=complete, limit=limit, name=last)
            self.consume(first, node)
            return Tensor("", "call", self.site(node), NOTHING, NOTHING, None, {"graph": False})
        if last in ("spectral_norm", "weight_norm", "remove_weight_norm", "remove_spectral_norm"):
            return first if first is not None else Opaque(last, "call")
        if name.startswith("torch.nn.init."):
            self.emit("init", first, node, name=last, args=args)
            return first if first is not None else NONE
        flows = union_of(a.flows for a in args)
        return Opaque(last, "call", self.site(node), flows, union_of(frozenset({a}) for a in args))

    # -- losses -------------------------------------------------------------------------------------------------------

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
        tensors = [alt for alt in real(given) if isinstance(alt, Tensor)]
        if flows or any(t.traits.get("graph") for t in tensors):
            graph = self.grad_state()[0]
            if graph is not None and any(t.traits.get("graph") for t in tensors):
                traits["graph"] = bool(graph)
        return Tensor("", "op", self.site(node), flows, parts, None, traits, {"graph": self.site(node)})

    # -- modules --------------------------------------------------------------------------------------------------------

    def call_module(self, module: Instance, args, kwargs, node, direct: bool = False, wrapped: bool = False) -> Value:
        """A module is called: its forward is run where the project defines it. `wrapped`: DataParallel or DDP stands around
        it, which brings the inputs to the right device."""
        if module.kind == "wrapper" and module.args:
            self.tag(module, "wrapped")
            inner = [alt for alt in real(module.args[0]) if isinstance(alt, Instance)]
            if inner:
                return self.call_module(inner[0], args, kwargs, node, wrapped=True)
        if module.kind == "loss" and isinstance(module.cls, Ref):
            last = module.type.rsplit(".", 1)[-1]
            return self.loss_call(effects.LOSS_OF_CLASS.get(last, last), module, args, kwargs, node)
        grad, grad_site = self.grad_state()
        event = self.emit("forward", module, node, mode=self.mode_of(module), mode_site=self.mode_site(module), grad=grad,
                          grad_site=grad_site, args=args, kwargs=kwargs, direct=direct, inside=self.inside_module(module),
                          device=None if wrapped else self.store.get(module, " device"),
                          device_site=self.store.get(module, " device site"), frozen=self.store.get(module, " frozen"))
        values = [*args, *kwargs.values()]
        flows = union_of([frozenset({event}), *(value.flows for value in values)])
        parts = union_of(with_parts(value) for value in values if isinstance(value, Opaque))
        if isinstance(module.cls, Class):
            found = module.cls.method("forward")
            if found is not None:
                result = self.run_forward(module, found, args, kwargs, node)
                return self.out_of(self.came_from(result, flows), event)
            if "torch.nn.Sequential" not in module.cls.externals():
                return Opaque("output", "call", self.site(node), flows, parts, module)
        made = self.layer_output(module, args, node, flows, parts, grad)
        return self.out_of(self.layer_shape(module, args[0] if args else None, made, node), event)

    def out_of(self, value: Value, event) -> Value:
        """Notes on a model's output which call gave it; what moves it takes the note away."""
        if isinstance(value, Tensor):
            value.traits["out_of"] = event
        return value

    def in_forward(self) -> bool:
        return any(key.name == "forward" for key in self.stack if isinstance(key, Unit))

    def inside_module(self, called: Value) -> bool:
        """Whether the code that calls a module belongs to a module around it: then it is not the model itself."""
        if self.in_forward():
            return True
        # A method that is the root of the run may well be the training loop; one that is called is part of a model.
        around = self.frame.self_value if self.frame is not None and len(self.stack) > 1 else None
        return isinstance(around, Instance) and around.kind == "module" and around is not called

    def layer_output(self, module: Instance, args, node, flows, parts, grad) -> Value:
        name = module.type
        first = args[0] if args else None
        if name == "torch.nn.Sequential" or isinstance(module.cls, Class):
            items = self.store.get(module, "[]")
            value: Value = first if first is not None else Opaque("", "call")
            if items is not None and (items.known and not items.open):
                self.chained += 1
                for item in items.known:
                    value = self.each(real(item), lambda alt, v=value: self.call_value(alt, [v], {}, node))
                self.chained -= 1
                return self.came_from(value, flows)
            return Tensor("", "op", self.site(node), flows, parts, module, {"graph": True} if grad else {})
        act = effects.LAYER_ACTIVATIONS.get(name)
        if act is not None:
            made = self.activated(act, first, node, flows, parts)
            if module.site is not None:
                made.sites["layer"] = module.site
            return made
        if name in ("torch.nn.Identity", "torch.nn.Flatten", "torch.nn.Unflatten") and isinstance(first, Tensor):
            return first.with_(None, layout=None)
        if re.search(r"LSTM|GRU|RNN", name):
            states = [item for arg in args[1:] for alt in real(arg) for item in (self.known_items(alt) or (alt,))]
            self.emit_mix(node, (*args[:1], *states), module, any(len(real(arg)) > 1 for arg in args[1:]))
        if name.startswith("torch.nn.") and not re.search(r"LSTM|GRU|RNN|MultiheadAttention|ModuleList|ModuleDict|AdaptiveLog", name):
            traits: dict = {"graph": True} if grad and re.search(r"Linear|Conv|Norm|Embedding|Bilinear|Transformer|PReLU", name) else {}
            if not traits and isinstance(first, Tensor) and first.traits.get("graph"):
                traits["graph"] = True
            self.emit_mix(node, tuple(args), module)
            return Tensor("", "op", self.site(node), flows, parts, module, traits, {"graph": self.site(node)})
        last = self.last_of_head(module) if name.startswith("torchvision.models.") else None
        if last is not None:
            traits = {"act": effects.LAYER_ACTIVATIONS[last.type]} | ({"graph": True} if grad else {})
            sites = {"act": last.site, "graph": self.site(node)}
            return Tensor("", "op", self.site(node), flows, parts, module, traits, sites)
        return Opaque("output", "call", self.site(node), flows, parts, module)

    def last_of_head(self, model: Instance) -> Instance | None:
        """The activation that a model of torchvision ends with, where the program gave it a head that ends with one."""
        if model.type.count(".") != 2 or re.search("inception|googlenet", model.type):
            return None  # detectors and others whose output is no tensor
        for name in ("fc", "classifier", "head", "heads"):
            alts = real(self.store.get(model, name))
            while len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].type == "torch.nn.Sequential":
                items = self.store.get(alts[0], "[]")
                alts = real(items.known[-1]) if items is not None and items.known and not items.open else ()
            if len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].type in effects.LAYER_ACTIVATIONS:
                return alts[0]
        return None

    def run_forward(self, module: Instance, found, args, kwargs, node) -> Value:
        """Runs a project module's forward; a second call with the same module in the same mode on the same kind of input gives
        the same again."""
        owner, unit = found
        given = [*map(_likeness, args), *((name, _likeness(value)) for name, value in sorted(kwargs.items()))]
        key = f" forward {self.mode_of(module)} {self.grad_state()[0]} {self.replaced} {given}"
        known = self.base_store.get(module, key)
        if known is not None and not unit.words & _TRAINING_WORDS:
            return known
        self.keep.extend([*args, *kwargs.values()])  # the key may know them by id
        func = Func("forward", owner.facts, unit, owner)
        result = self.inline(func, [module, *args], kwargs, node, module)
        if unit not in self.stack and not self.graph.dead:
            self.base_store.set(module, key, result)
        return result

    def came_from(self, value: Value, flows) -> Value:
        """A module's output, with the forward events it came out of: the module's own, then those of its layers."""
        if isinstance(value, Union):
            return Union(tuple(self.came_from(alt, flows) for alt in value.alts))
        if isinstance(value, Tensor):
            of = union_of((flows, value.flows))
            return Tensor("", "output", value.site, of, value.parts, value, dict(value.traits), dict(value.sites))
        if isinstance(value, Seq):
            items = self.store.get(value, "[]")
            made_seq = Seq(value.kind, value.site)
            made_seq.flows = union_of((flows, value.flows))
            if items is not None:
                self.store.set(made_seq, "[]", Items(tuple(self.came_from(item, flows) for item in items.known), items.open))
            return made_seq
        if isinstance(value, Dict):
            items = self.store.get(value, "{}")
            made_dict = Dict(value.site)
            made_dict.flows = union_of((flows, value.flows))
            if items is not None:
                known = {key: self.came_from(item, flows) for key, item in items.known.items()}
                self.store.set(made_dict, "{}", Items(known, items.open))
            return made_dict
        if isinstance(value, Opaque):
            of = union_of((flows, value.flows))
            return Opaque(value.name, "call", value.site, of, value.parts, value, value.tags)
        return value

    # -- calls of what is not known -------------------------------------------------------------------------------------

    def call_opaque(self, callee: Opaque, args, kwargs, node, direct: bool = False) -> Value:
        """Calls a value of which nothing certain is known: perhaps a model, perhaps a loss."""
        if callee.source in ("param", "attr", "item", "call", "global"):
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

    def copied(self, args, node) -> Value:
        """copy.copy and copy.deepcopy: a new object that is what the old one was."""
        if not args:
            return Opaque("copy", "call")
        value = args[0]
        alts = real(value)
        if len(alts) == 1 and isinstance(alts[0], Instance):
            old = alts[0]
            new = Instance(old.cls, old.kind, self.site(node), old.args, old.kwargs)
            self.made_here(new)
            for key, found in list(self._attributes_of(old)):
                self.store.set(new, key, found)
            return new
        return Opaque("copy", "call", self.site(node), value.flows, NOTHING, None, frozenset({"copy"}))

    def _attributes_of(self, owner: Value):
        seen = set()
        layer = self.store
        while layer is not None:
            for (who, name), value in layer.data.items():
                if who is owner and name not in seen:
                    seen.add(name)
                    yield name, value
            layer = layer.parent


def _on_cpu(item: Value) -> bool:
    """Whether something was brought to the CPU by name: `x.cpu()`."""
    if isinstance(item, Tensor):
        return item.traits.get("device") == "cpu"
    return isinstance(item, Opaque) and item.source == "call" and item.name == "cpu"


_TRAINING_WORDS = frozenset({"backward", "zero_grad", "train", "eval", "autocast"})


def _likeness(value: Value):
    """What a forward may make its result depend on: two inputs alike in this give results that are alike."""
    if isinstance(value, Const):
        return repr(value.value) if isinstance(value.value, (bool, str, type(None))) else "number"
    if isinstance(value, Tensor):
        return [value.traits.get(name) for name in ("act", "graph", "device", "layout", "shape")]
    return "" if isinstance(value, Opaque) else id(value)


def _context(kind: str, value=None):
    def make(run, name, args, kwargs, node):
        made = Instance(Ref(name), "context", run.site(node), args, kwargs)
        if name in ("torch.set_grad_enabled", "torch.inference_mode"):
            given = args[0] if args else kwargs.get("mode")
            known = boolean(given) if given is not None else (True if name == "torch.inference_mode" else None)
            grad = known if name == "torch.set_grad_enabled" or known is None else not known
            run.base_store.set(made, " value", grad)  # fixed as it is made: no branch can change it
            if name == "torch.set_grad_enabled":
                run.pending_grad = (grad, run.site(node))
        else:
            run.base_store.set(made, " value", value)
        run.base_store.set(made, " kind", kind)
        return made

    return make


def _partial(run, name, args, kwargs, node):
    if not args:
        return Opaque("partial", "call")
    return Partial(args[0], args[1:], kwargs)


def _parameter(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("data")
    wants = kwargs.get("requires_grad", args[1] if len(args) > 1 else None)
    if wants is not None and boolean(wants) is not True:
        return Tensor("", "made", run.site(node), NOTHING, NOTHING, given, {"param": True})
    traits = {"graph": True, "leaf": True, "param": True}
    return Tensor("", "made", run.site(node), NOTHING, NOTHING, given, traits, {"leaf": run.site(node)})


def _buffer(run, name, args, kwargs, node):
    """A tensor that the module it is assigned to registers: it asks for no gradient."""
    given = args[0] if args else kwargs.get("data")
    return Tensor("", "made", run.site(node), NOTHING, NOTHING, given, {"graph": False, "buffer": True})


def _variable(run, name, args, kwargs, node):
    wants = boolean(kwargs.get("requires_grad"))
    if not args:
        return Opaque("Variable", "call")
    if wants:
        return Tensor("", "made", run.site(node), NOTHING, NOTHING, args[0], {"graph": True, "leaf": True})
    return args[0]


def _load(run, name, args, kwargs, node):
    return Opaque("load", "call", run.site(node), NOTHING, NOTHING, None, frozenset({"loaded"}))


def _save(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("obj")
    items = run.store.get(given, "{}") if isinstance(given, Dict) else None  # as they are now: a later branch may blur them
    run.emit("save", given, node, args=args, kwargs=kwargs, items=items)
    return NONE


def _backward(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("tensors")
    values = [alt for alt in real(given)]
    items = [item for value in values if isinstance(value, Seq) for item in run.known_items(value)] or values
    flows = union_of(item.flows for item in items)
    parts = union_of(with_parts(item) for item in items)
    run.emit("backward", given, node, flows=flows, parts=parts, framework=None, kwargs=kwargs)
    return NONE


def _grad(run, name, args, kwargs, node):
    given = args[0] if args else kwargs.get("outputs")
    flows = given.flows if given is not None else NOTHING
    run.emit("autograd.grad", given, node, flows=flows, parts=with_parts(given) if given is not None else NOTHING)
    return Opaque("grad", "call", run.site(node), flows, NOTHING)


def _ordered(run, name, args, kwargs, node):
    if args:
        items = run.items_of(args[0])
        if items is not None:
            known = {}
            for pair in items:
                inner = run.items_of(pair)
                if inner is None or len(inner) != 2 or not isinstance(inner[0], Const):
                    return run.mapping({}, node, True)
                known[inner[0].value] = inner[1]
            return run.mapping(known, node)
        return run.mapping({}, node, True)
    return run.mapping(dict(kwargs), node)


def _compile(run, name, args, kwargs, node):
    return args[0] if args else Opaque("compile", "call", tags=frozenset({"decorator"}))


def _checkpoint(run, name, args, kwargs, node):
    if not args:
        return Opaque("checkpoint", "call")
    return run.each(real(args[0]), lambda alt: run.call_value(alt, args[1:], {}, node))


def _chain(run, name, args, kwargs, node):
    return Iter("generator", run.sequence("list", [run.element(arg) for arg in args], node, True), run.site(node), once=True) if not any(
        isinstance(alt, Iter) and alt.kind in ("parameters", "named_parameters") for arg in args for alt in real(arg)
    ) else Iter("filter", run.sequence("list", list(args), node), run.site(node), once=True)


def _export(run, name, args, kwargs, node):
    """A model is frozen as it stands. The older ONNX exporter puts it in evaluation mode itself."""
    model = args[0] if args else kwargs.get("model", kwargs.get("mod", kwargs.get("func")))
    itself = name == "torch.onnx.export" and ("training" in kwargs or "**" in kwargs or boolean(kwargs.get("dynamo")) is not True)
    for alt in real(model) if not itself else ():
        if isinstance(alt, (Instance, Opaque)):
            run.emit("export", alt, node, name=name, modes=run.modes_within(alt), mode_site=run.mode_site(alt))
    return run.unknown_call(name, args, kwargs, node)


def _sync_batchnorm(run, name, args, kwargs, node):
    return args[0] if args else Opaque("", "call")


_SPECIAL = {
    "torch.no_grad": _context("grad", False),
    "torch.inference_mode": _context("grad", False),
    "torch.enable_grad": _context("grad", True),
    "torch.set_grad_enabled": _context("grad"),
    "torch.amp.autocast": _context("autocast"),
    "torch.autograd.set_detect_anomaly": _context("other"),
    "torch.autograd.detect_anomaly": _context("other"),
    "torch.profiler.profile": _context("other"),
    "torch.profiler.record_function": _context("other"),
    "torch.autograd.profiler.profile": _context("other"),
    "torch.autograd.profiler.record_function": _context("other"),
    "contextlib.nullcontext": _context("other"),
    "contextlib.ExitStack": _context("exitstack"),
    "contextlib.suppress": _context("other"),
    "functools.partial": _partial,
    "torch.nn.Parameter": _parameter,
    "torch.nn.Buffer": _buffer,
    "torch.autograd.Variable": _variable,
    "torch.load": _load,
    "torch.save": _save,
    "torch.autograd.backward": _backward,
    "torch.autograd.grad": _grad,
    "deepspeed.initialize": lambda run, name, args, kwargs, node: run.deepspeed_initialize(args, kwargs, node),
    "collections.OrderedDict": _ordered,
    "torch.compile": _compile,
    "torch.jit.script": _compile,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.jit.trace": _export,
    "torch.onnx.export": _export,
    "torch.export.export": _export,
    "itertools.chain": _chain,
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": _sync_batchnorm,
}
