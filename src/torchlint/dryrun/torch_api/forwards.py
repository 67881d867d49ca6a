"""What calling a module does: its forward, or what a layer of torch gives."""

from __future__ import annotations

import re

from torchlint.catalogue import effects
from torchlint.dryrun.containers import is_layer
from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.layer_shapes import CLASSIFIER, HEADS
from torchlint.dryrun.values import (
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Union,
    Value,
    real,
    union_of,
    with_parts,
)
from torchlint.sieve.facts import Unit

_KEEPS = frozenset({"setattr", "append", "item.set", "module.put"})  # a module may go on with what an earlier call has left in it
_TRAINING_WORDS = frozenset({"backward", "zero_grad", "train", "eval", "autocast"})


class Forwards:
    """The part of a run that calls modules. See `interpreter.Run` for the state it works on."""

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
            loss = self.loss_call(effects.LOSS_OF_CLASS.get(last, last), module, args, kwargs, node)
            if wrapped:
                loss.traits.pop("number", None)  # one from each device
            return loss
        grad, grad_site = self.grad_state()
        event = self.emit("forward", module, node, mode=self.mode_of(module), mode_site=self.mode_site(module), grad=grad,
                          grad_site=grad_site, args=args, kwargs=kwargs, direct=direct, inside=self.inside_module(module),
                          device=None if wrapped else self.store.get(module, " device"),
                          device_site=self.store.get(module, " device site"), frozen=self.store.get(module, " frozen"), wrapped=wrapped)
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
            made = Tensor("", "op", self.site(node), flows, parts, module, {"graph": True} if grad else {})
            if items is not None and is_layer(items.last):
                self.chained += 1
                made = self.came_from(self.call_value(items.last, [made], {}, node), flows)
                self.chained -= 1
            return made
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
        last = self.last_of_head(module)
        if last is not None:
            traits = {"act": effects.LAYER_ACTIVATIONS[last.type]} | ({"graph": True} if grad else {})
            sites = {"act": last.site, "graph": self.site(node)}
            return Tensor("", "op", self.site(node), flows, parts, module, traits, sites)
        return Opaque("output", "call", self.site(node), flows, parts, module)

    def last_of_head(self, model: Instance) -> Instance | None:
        """The activation that a classifier of torchvision, or one of its name out of a hub, ends with, where the program gave it a
        head that ends with one."""
        name = model.type
        if name == "torch.hub.load":
            entry = model.arg(1, "model")
            name = f"torchvision.models.{entry.value}" if isinstance(entry, Const) else ""
            if not CLASSIFIER.match(name):
                return None
        if not name.startswith("torchvision.models.") or name.count(".") != 2 or re.search("inception|googlenet", name):
            return None  # detectors and others whose output is no tensor
        for name in HEADS:
            alts = real(self.store.get(model, name))
            while len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].type == "torch.nn.Sequential":
                items = self.store.get(alts[0], "[]")
                alts = real(items.known[-1]) if items is not None and items.known and not items.open else ()
            if len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].type in effects.LAYER_ACTIVATIONS:
                return alts[0]
        return None

    def likeness(self, value: Value):
        """What a forward may make its result depend on: two inputs alike in this give results that are alike."""
        if isinstance(value, Const):
            return repr(value.value) if isinstance(value.value, (bool, str, type(None))) else "number"
        if isinstance(value, Tensor):
            return [value.traits.get(name) for name in ("act", "graph", "device", "layout", "shape")]
        return (self.base_store.get(value, " shape") or "") if isinstance(value, Opaque) else id(value)

    def run_forward(self, module: Instance, found, args, kwargs, node) -> Value:
        """Runs a project module's forward; a second call with the same module in the same mode on the same kind of input gives
        the same again."""
        owner, unit = found
        given = [*map(self.likeness, args), *((name, self.likeness(value)) for name, value in sorted(kwargs.items()))]
        key = f" forward {self.mode_of(module)} {self.grad_state()[0]} {self.replaced} {given}"
        known = self.base_store.get(module, key)
        if known is not None and not unit.words & _TRAINING_WORDS:
            return self.given_anew(known, self.fed.get((id(module), key)), [*args, *kwargs.values()])
        self.keep.extend([*args, *kwargs.values()])  # the key may know them by id
        since = len(self.graph.events)
        func = Func("forward", owner.facts, unit, owner)
        trial, self.trial = self.trial, False  # what is kept of it is for all that come later
        try:
            result = self.inline(func, [module, *args], kwargs, node, module)
        finally:
            self.trial = trial
        if unit not in self.stack and not self.graph.dead:
            self.base_store.set(module, key, result)
            self.forwards.append((module, key))
            keeps = any(event.kind in _KEEPS for event in self.graph.events[since:])
            self.fed[id(module), key] = None if keeps else self.behind([*args, *kwargs.values()])
        return result

    def behind(self, values: list[Value]) -> tuple[frozenset, frozenset]:
        """The forwards that some values came out of, and what they were computed from, themselves among it."""
        alts = [alt for value in values for alt in real(value)]
        alts += [item for alt in alts if isinstance(alt, (Seq, Dict)) for value in self.known_items(alt) for item in real(value)]
        return frozenset().union(*(alt.flows for alt in alts)), frozenset().union(*(with_parts(alt) for alt in alts))

    def given_anew(self, known: Value, fed: tuple[frozenset, frozenset] | None, given: list[Value]) -> Value:
        """What a forward gave that was run for another input, as one that came out of this input: what was behind the other one is not
        behind it."""
        if fed is None:
            return known
        flows, parts = self.behind(given)
        if fed[0] <= flows:
            return known  # of numbers that came out of no model nobody asks which ones they were
        return _Anew(self, fed[0] - flows, fed[1] - parts, parts)(known)

    def forget_forwards(self, since: int) -> None:
        """The events of what was run since then are taken back: it has to be run once more."""
        for module, key in self.forwards[since:]:
            self.base_store.set(module, key, None)
        del self.forwards[since:]

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
                self.store.set(made_seq, "[]", Items(tuple(self.came_from(item, flows) for item in items.known), items.open, items.alike))
            return made_seq
        if isinstance(value, Dict):
            items = self.store.get(value, "{}")
            made_dict = Dict(value.site)
            made_dict.flows = union_of((flows, value.flows))
            if items is not None:
                known = {key: self.came_from(item, flows) for key, item in items.known.items()}
                self.store.set(made_dict, "{}", Items(known, items.open, items.alike))
            return made_dict
        if isinstance(value, Opaque):
            of = union_of((flows, value.flows))
            made = Opaque(value.name, "call", value.site, of, value.parts, value, value.tags)
            self.note_shape(made, self.noted_shape(value))
            return made
        if isinstance(value, Instance) and value.kind == "instance":  # a distribution of the project's own, around the output
            value.args = [self.came_from(given, flows) for given in value.args]
            value.kwargs = {name: self.came_from(given, flows) for name, given in value.kwargs.items()}
        return value


class _Anew:
    """Makes values of a forward's result that have other inputs behind them; the same one for the same one."""

    __slots__ = ("flows", "gone", "made", "parts", "run")

    def __init__(self, run, flows: frozenset, gone: frozenset, parts: frozenset):
        self.run, self.flows, self.gone, self.parts, self.made = run, flows, gone, parts, {}

    def __call__(self, value: Value) -> Value:
        if id(value) not in self.made:
            self.made[id(value)] = (value, self._new(value))
        return self.made[id(value)][1]

    def _new(self, value: Value) -> Value:
        if isinstance(value, Union):
            return Union(tuple(map(self, value.alts)))
        if value.flows.isdisjoint(self.flows) and value.parts.isdisjoint(self.gone):
            return value
        parts = value.parts if value.parts.isdisjoint(self.gone) else (value.parts - self.gone) | self.parts
        if isinstance(value, Tensor):
            return Tensor(value.name, value.source, value.site, value.flows - self.flows, parts, value.origin, dict(value.traits), dict(value.sites))
        if type(value) is Opaque:
            made = Opaque(value.name, value.source, value.site, value.flows - self.flows, parts, value.origin, value.tags)
            self.run.note_shape(made, self.run.noted_shape(value))
            return made
        if isinstance(value, Seq):
            items, seq = self.run.store.get(value, "[]"), Seq(value.kind, value.site)
            seq.flows = value.flows - self.flows
            if items is not None:
                self.run.store.set(seq, "[]", Items(tuple(map(self, items.known)), items.open, items.alike))
            return seq
        if isinstance(value, Dict):
            items, made_dict = self.run.store.get(value, "{}"), Dict(value.site)
            made_dict.flows = value.flows - self.flows
            if items is not None:
                self.run.store.set(made_dict, "{}", Items({key: self(item) for key, item in items.known.items()}, items.open, items.alike))
            return made_dict
        return value
