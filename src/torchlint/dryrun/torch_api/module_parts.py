"""What is in a module: the modules, parameters and buffers that it takes as its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

import libcst as cst

from torchlint.dryrun.store import Items
from torchlint.dryrun.torch_api.replaced_layers import ReplacedLayers
from torchlint.dryrun.values import Const, Dict, Instance, Iter, Opaque, Seq, Tensor, Value, alternatives, join, real


class ModuleParts(ReplacedLayers):
    """The part of a run that knows what belongs to a module. See `interpreter.Run` for the state it works on."""

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

    def register(self, value: Value) -> None:
        """Notes that a module owns a value (and what is in it) from now on."""
        for alt in real(value):
            if isinstance(alt, (Instance, Tensor)):
                self.registered.add(id(alt))
                self.keep.append(alt)

    def keep_on(self, owner: Instance, name: str, value: Value) -> None:
        """Notes that a module gets a value as an attribute: another module in it is part of it from then on."""
        self.register(value)
        old = self.store.get(owner, name)
        for alt in real(old) if isinstance(old, Value) and old is not value else ():
            if isinstance(alt, Instance):
                self.unsure_children.add((id(owner), id(alt)))
                self.replaced += 1
        alts = real(value)
        if owner.type == "torch.nn.Sequential" and any(isinstance(alt, Instance) and alt.kind == "module" for alt in alts):
            self.put_layer(owner, None, value)  # `net.act = nn.Identity()`: in the place of what had the name, or behind all
        for alt in alts:
            if isinstance(alt, Instance) and alt.kind in ("module", "wrapper", "loss"):
                self.add_child(owner, alt, sure=len(alts) == 1 and alts[0] is value)
            elif type(alt) is Opaque:  # a module, if it is ever called as one
                self.add_child(owner, alt, sure=False)

    def register_as(self, owner: Instance, name: Value | None, value: Value | None, what: str) -> None:
        """A module takes a module, buffer or parameter under a name."""
        known = name.value if isinstance(name, Const) and isinstance(name.value, str) and name.value[:1] not in " [{" else ""
        if known and what == "buffer":
            self.buffers.add((id(owner), known))
            self.keep.append(owner)
        if value is None:
            return
        self.adopt(owner, value)
        items = self.store.get(owner, "[]") or Items((), True)
        if what == "module" and known.isdecimal() and not items.open and int(known) < len(items.known):
            self.put_layer(owner, name, value)
        elif what == "module" and owner.type == "torch.nn.Sequential":
            last = value if self.is_at_home(owner) else None
            self.store.set(owner, "[]", Items((*items.known, value), items.open or bool(self.loops), items.of_known_kinds, last=last))
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
                if isinstance(module, Instance):
                    todo.extend(module.twins)
                    if module.kind == "wrapper":
                        todo.extend(real(module.args[0]) if module.args else ())

    def fill_container(self, made: Instance, args) -> None:
        """What is in a Sequential, ModuleList or ModuleDict from the start."""
        name = made.type
        if name == "torch.nn.Sequential":
            items: Items | None = None
            if len(args) == 1:
                inner = self.ordered_items(args[0])
                items = Items(inner) if inner is not None else None
                if items is None and isinstance(args[0], Dict):  # `layers["fc" + str(i)] = ...`
                    items = Items(self.known_items(args[0]), True, self.is_of_known_kinds(args[0]))
                if items is None:
                    items = Items(tuple(args), not isinstance(args[0], Instance))
            else:
                items = self.given_items(args, made.kwargs, made.site.node if made.site is not None else None)
            self.store.set(made, "[]", items)
        elif name in ("torch.nn.ModuleList", "torch.nn.ParameterList"):
            inner_value = _gone_through(args[0]) if args else None
            inner = self.items_of(inner_value) if inner_value is not None else ()
            known = inner if inner is not None else [item for alt in real(inner_value) for item in self.known_items(alt)]
            if name.endswith("ParameterList"):
                known = [self.placed_by_module(item) for item in known]
            alike = inner_value is not None and all(map(self.is_of_known_kinds, real(inner_value)))
            given = self.store.get(inner_value, "[]") if isinstance(inner_value, Seq) else None
            self.store.set(made, "[]", Items(tuple(known), inner is None, alike, last=given.last if given is not None else None))
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

    def given_items(self, args, kwargs, node) -> Items:
        """What a Sequential is given: one by one, and as `*layers` of which not all may be known."""
        more = kwargs.get("*")
        if more is None:
            return Items(tuple(args))
        inner = _gone_through(more)
        return Items((*args, *self.known_items(inner)), True, self.is_of_known_kinds(inner), last=self._given_last(args, inner, node))

    def _given_last(self, args, inner: Value, node) -> Value | None:
        """What a Sequential ends with that is given `*layers`, and perhaps more behind it."""
        given = node.args if isinstance(node, cst.Call) else ()
        if [bool(arg.star) for arg in given].count(True) != 1 or given[-1].keyword is not None:
            return None
        if not given[-1].star:
            return args[-1] if args else None
        items = self.store.get(inner, "[]") if isinstance(inner, Seq) else None
        return items.last if items is not None else None

    def ordered_items(self, value: Value) -> tuple[Value, ...] | None:
        """The modules of an OrderedDict([...]) or dict, in order."""
        items = self.store.get(value, "{}") if isinstance(value, (Dict, Opaque)) else None
        return tuple(items.known.values()) if items is not None and not items.open else None

    def emit_module(self, made: Instance, node) -> None:
        """A module is built inside another module's forward, or in a method that it calls: worth an event."""
        frame = self.frame
        if node is not None and frame is not None and self.in_forward():
            if isinstance(frame.self_value, Instance) and frame.self_value.kind == "module":
                self.emit("module.create", made, node)


def _gone_through(value: Value) -> Value:
    """What a generator gives, as a list of it would hold it."""
    return value.base if isinstance(value, Iter) and value.kind == "generator" and value.base is not None else value
