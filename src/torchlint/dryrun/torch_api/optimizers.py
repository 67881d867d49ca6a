"""Optimizers, schedulers and scalers: what they hold, what their methods do."""

from __future__ import annotations

from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    Class,
    Dict,
    Func,
    Instance,
    Iter,
    Method,
    Opaque,
    Seq,
    Tensor,
    Value,
    real,
    union_of,
)


class Optimizers:
    """The part of a run that knows optimizers. See `interpreter.Run` for the state it works on."""

    def created_optimizer(self, made: Instance, node, seen: bool = False) -> None:
        """An optimizer was built; `seen`: by an __init__ of the project, which was run and took the parameters there."""
        params = made.arg(0, "params")
        modules, tensors, complete = self.held(params) if params is not None else ((), (), False)
        if params is not None and not seen:
            self.consume(params, node)
        bound = complete or params is not None and self.held(params, exact=False)[2]
        self.emit("optimizer.create", made, node, params=params, modules=modules, tensors=tensors, complete=complete, bound=bound)
        self.holds[id(made)] = (modules, tensors, complete)

    def held(self, params: Value, depth: int = 0, exact: bool = True) -> tuple[tuple[Value, ...], tuple[Value, ...], bool]:
        """The modules and tensors whose parameters a value gives, and whether that is all of it. Not `exact`: whether it gives
        no others, though perhaps not each of them."""
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
                inner = self.held(alt.base, depth + 1, exact)
                if alt.kind not in ("same", *(("generator", "filter") if not exact or self.is_chain(alt) else ())):
                    inner = (*inner[:2], False)
            elif isinstance(alt, Seq) or isinstance(alt, Instance) and alt.kind == "module":
                items = self.store.get(alt, "[]")
                known = items.known if items is not None else ()
                parts = [self.held(item, depth + 1, exact) for item in known]
                inner = (
                    tuple(m for p in parts for m in p[0]),
                    tuple(t for p in parts for t in p[1]),
                    items is not None and items.of_known_kinds and all(p[2] for p in parts),
                )
            elif isinstance(alt, Dict):
                items = self.store.get(alt, "{}")
                if items is None or "params" not in items.known:
                    return tuple(modules), tuple(tensors), False
                inner = self.held(items.known["params"], depth + 1, exact)
            elif isinstance(alt, Tensor):
                if isinstance(alt.origin, Iter) and alt.traits.get("param"):
                    modules.append(alt.origin.base)
                    complete = complete and (not exact or bool(alt.traits.get("each")))
                elif isinstance(alt.origin, Instance) and alt.origin.kind == "module":
                    modules.append(alt.origin)
                    complete = complete and not exact
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

    def is_chain(self, value: Iter) -> bool:
        """Whether something is gone through that has the parameters of several modules, one after the other."""
        items = self.items_of(value.base)
        return bool(items) and all(isinstance(item, Iter) for item in items)

    def optimizer_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if name == "step":
            closure = args[0] if args else kwargs.get("closure")
            self.run_closure(closure, node)
            self.emit("optimizer.step", owner, node, closure=closure, **({} if self.stepping is None else {"scaler": self.stepping}))
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

    def run_closure(self, closure: Value | None, node) -> None:
        """What an optimizer is given to compute the loss again: it runs with gradients on, whatever is around the step."""
        for alt in real(closure):
            if isinstance(alt, (Func, Method)):
                depth = len(self.contexts)
                self.contexts.append(self.Context("grad", self.site(node), True))
                self.call_value(alt, [], {}, node)
                del self.contexts[depth:]

    def scheduler_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if name == "step":
            among = self.among if owner in self.among else (owner,)
            self.emit("scheduler.step", owner, node, args=[*args, *kwargs.values()], among=among)
            return NONE
        tag = {"state_dict": "scheduler_state", "load_state_dict": "load_result"}.get(name)
        return Opaque(name, "call", self.site(node), NOTHING, NOTHING, owner, frozenset({tag}) if tag else NOTHING)

    def step_through(self, scaler: Value, stepped: Value, node) -> Value:
        """A scaler calls the `step` of what it is given: where that is an object of the project around an optimizer, its method is run."""
        before = len(self.graph.events)
        if isinstance(stepped, Instance) and stepped.kind == "instance" and isinstance(stepped.cls, Class) and stepped.cls.method("step") is not None:
            around, self.stepping = self.stepping, scaler
            try:
                self.call_value(self.attribute(stepped, "step", node), [], {}, node)
            finally:
                self.stepping = around
        if not any(event.kind == "optimizer.step" for event in self.graph.events[before:]):
            self.emit("optimizer.step", stepped, node, closure=None, scaler=scaler)
        return NONE

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
            self.run_closure(args[1] if len(args) > 1 else kwargs.get("closure"), node)
            self.emit("scaler.step", owner, node, optimizer=first)
            if first is not None:
                self.each(real(first), lambda alt: self.step_through(owner, alt, node))
            return NONE
        if name == "unscale_":
            self.emit("scaler.unscale", owner, node, optimizer=first)
            return NONE
        if name == "update":
            self.emit("scaler.update", owner, node)
            return NONE
        return Opaque(name, "call", None, NOTHING, NOTHING, owner, frozenset({"scaler_state"}) if name == "state_dict" else NOTHING)
