"""What an assignment leaves behind: in a name, an attribute, an item, or several at once."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.catalogue.protocols import PAD_NAMES
from torchlint.catalogue.vocabulary import OF_EVERY_MODULE
from torchlint.dryrun.containers import BATCHY, TORCH
from torchlint.dryrun.store import ANY_ITEM, Items
from torchlint.dryrun.values import (
    NOTHING,
    TRUE,
    Const,
    Dict,
    Instance,
    Iter,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Union,
    Value,
    boolean,
    join,
    number,
    real,
    union_of,
)

GRAD_FLAG = re.compile(r"^requi[a-z]*_?grad[a-z]*_?$", re.IGNORECASE)  # requires_grad, and what is meant to be it


class Assignment:
    """The part of a run that binds targets. See `interpreter.Run` for the state it works on."""

    def assign(self, target, value: Value, node: cst.CSTNode | None = None, quiet: bool = False) -> None:
        """Binds a target: a name, attribute, item or a tuple of them."""
        kind = type(target)
        if type(value) in (Instance, Iter) and not value.name and kind in (cst.Name, cst.Attribute):
            value.name = self.dotted(target)
        if type(value) is Opaque and value.source == "call" and not value.tags and kind in (cst.Name, cst.Attribute):
            self.take_role(value, target.value if kind is cst.Name else target.attr.value)
        if kind is cst.Name:
            if not quiet:
                self.emit_assign(target, value, node)
            if type(value) in (Opaque, Tensor) and not value.name:
                value.name = target.value
            self.set_name(target.value, value)
        elif kind is cst.Attribute:
            owner = self.eval(target.value)
            if not quiet:
                self.emit_assign(target, value, node)
                if self.filled_in and self.is_none(value):
                    for alt in real(owner):
                        self.filled_in.pop((id(alt), target.attr.value), None)
            self.set_attribute(owner, target.attr.value, value, node or target)
        elif kind in (cst.Tuple, cst.List):
            self.unpack(target, value, node, quiet or node is None)
        elif kind is cst.Subscript:
            self.set_item(target, value, node or target)
        elif kind is cst.StarredElement:
            self.assign(target.value, Opaque("", "item", None, value.flows, value.parts, value), quiet=True)

    def emit_assign(self, target, value: Value, node) -> None:
        """A name or attribute is bound: of interest for tensors, modules and what was taken from them."""
        if node is None:
            return
        if isinstance(value, (Tensor, Union)) or isinstance(value, Instance) and value.kind in ("module", "wrapper") or (
            isinstance(value, Opaque) and (value.tags or value.source == "op")
        ) or isinstance(value, (Seq, Dict)):
            operands = self.last_operands or (None,)
            own = operands[0] is not None and operands[0] is getattr(node, "value", None)
            self.emit("assign", value, node, target=target, operands=operands[1:] if own else ())

    def unpack(self, target, value: Value, node: cst.CSTNode | None = None, quiet: bool = True) -> None:
        elements = [element for element in target.elements]
        starred = any(type(e) is cst.StarredElement for e in elements)
        for alt in real(value):
            items = self.items_of(alt)
            if items is not None and len(items) == len(elements) and not starred and len(real(value)) == 1:
                for element, item in zip(elements, items):
                    self.assign(element.value, item, node, quiet)
                return
        columns: list[Value | None] = [None] * len(elements)
        alts = real(value)
        for alt in alts:
            items = self.items_of(alt)
            for n, element in enumerate(elements):
                if items is not None and len(items) == len(elements):
                    piece: Value = items[n]
                elif isinstance(alt, Tensor):
                    piece = self.note_part(alt.with_(None, maybe0=True), alt)
                elif len(elements) == 2 and not starred and (picked := self.indices(alt, n, node)) is not None:
                    piece = self.note_part(picked, alt, n)
                else:
                    tags = alt.tags & (BATCHY | TORCH) if isinstance(alt, Opaque) else NOTHING
                    piece = Opaque("", "item", None, alt.flows, alt.parts, alt, tags)
                    if type(alt) is Opaque and alt.name in ("shape", "size") and not starred:
                        self.note_dimension(piece, n, len(elements))
                    self.note_column(piece, alt, n)
                    self.note_part(piece, alt, n)
                columns[n] = piece if columns[n] is None else join(columns[n], piece)
        for element, piece in zip(elements, columns):
            if type(element) is cst.StarredElement:
                self.assign(element.value, Opaque("", "item", None, value.flows, value.parts, value), quiet=True)
            else:
                self.assign(element.value, piece if piece is not None else Opaque("", "item"), quiet=True)

    def set_attribute(self, owner: Value, name: str, value: Value, node: cst.CSTNode) -> None:
        alts = real(owner)
        for alt in alts:
            if GRAD_FLAG.search(name):
                self.emit("flag.set", alt, node, name=name, value=value)
            if isinstance(alt, Tensor) and name == "requires_grad" and boolean(value) is True:
                self.emit("leaf.set", alt, node)
            if isinstance(alt, Tensor) and name == "requires_grad":
                wants = value.value if isinstance(value, Const) and isinstance(value.value, bool) else None
                target = node.targets[0].target if type(node) is cst.Assign else None
                self.switch_grad(alt, wants, node, target.value if type(target) is cst.Attribute else None)
            elif isinstance(alt, Tensor) and name == "data" and self.noted_shape(value) != self.noted_shape(alt):
                self.forget_shape(alt)
            elif isinstance(alt, Tensor) and name in ("grad", "_grad"):
                self.emit("grad.set", alt, node, value=value)
            elif isinstance(alt, Opaque) and name in ("grad", "_grad"):
                self.emit("grad.set", alt, node, value=value)
            elif name == "volatile" and (isinstance(alt, Tensor) or isinstance(alt, Opaque) and alt.flows):
                self.emit("volatile.set", alt, node)
            if isinstance(alt, Ref):
                self.emit("setting", alt, node, name=f"{alt.name}.{name}", value=value)
            kept = value
            if isinstance(alt, Instance):
                self.emit("setattr", alt, node, name=name, value=value, old=self.store.get(alt, name))
                if alt.kind in ("module", "wrapper", "loss"):
                    self.keep_on(alt, name, value)
                    kept = self.kept_as_buffer(alt, name, value)
            elif type(alt) is Opaque:
                self.put_on(alt, name, value, node)
            if len(alts) == 1:
                if type(kept) in (Opaque, Tensor) and not kept.name:
                    kept.name = name
                self.put_into(alt, kept)
                self.store.set(alt, name, kept)
            else:
                old = self.store.get(alt, name)
                self.store.set(alt, name, join(old, kept) if old is not None else kept)

    def kept_as_buffer(self, owner: Instance, name: str, value: Value) -> Value:
        """What a module holds of a value that is assigned to it: what has the name of a buffer is one. Behind a move it
        stays where it was made."""
        if isinstance(value, Tensor) and value.traits.get("buffer"):
            self.buffers.add((id(owner), name))
            self.keep.append(owner)
        if (id(owner), name) not in self.buffers or self.store.get(owner, " moved") is TRUE:
            return value
        return self.placed_by_module(value, name)

    def put_on(self, owner: Opaque, name: str, value: Value, node: cst.CSTNode) -> None:
        """Tells that something unknown, perhaps a model, gets a layer or a Parameter: `def finetune(model): model.fc = ...`."""
        layers = [alt for alt in real(value) if isinstance(alt, Instance) and alt.kind in ("module", "wrapper")]
        replaces = name in OF_EVERY_MODULE and isinstance(value, Const)
        if layers or replaces or any(isinstance(alt, Tensor) and alt.traits.get("graph") is True for alt in real(value)):
            self.emit("setattr", owner, node, name=name, value=value, old=self.store.get(owner, name))
        if name in PAD_NAMES:
            self.emit("pad.set", owner, node, name=name, value=value)
        for layer in layers:
            self.add_child(owner, layer, sure=False)

    def put_into(self, place: Value, value: Value) -> None:
        """Notes that what is put into a part of a module is in the module: `model.classifier[1] = nn.Linear(...)`."""
        whole = place
        while isinstance(whole, Opaque) and whole.source in ("attr", "item") and whole.origin is not None:
            whole = whole.origin
        if whole is not place and isinstance(whole, Instance) and whole.kind in ("module", "wrapper"):
            for alt in real(value):
                if isinstance(alt, Instance) and alt.kind in ("module", "wrapper"):
                    self.adopt(whole, alt)

    def set_item(self, target: cst.Subscript, value: Value, node: cst.CSTNode) -> None:
        owner = self.eval(target.value)
        if "[]=" in self.watched_calls:
            self.emit("item.set", owner, node, target=target, value=value)
        key = None
        for element in target.slice:
            if type(element.slice) is cst.Index:
                found = self.eval(element.slice.value)
                key = found if len(target.slice) == 1 else None
        lets_go = not value.flows and not isinstance(key, Const) and self._goes_over(target)
        for alt in real(owner):
            if lets_go:
                self._without_graphs(alt, value)
            if isinstance(alt, (Seq, Dict)):
                self.gather(alt, value)
            elif any(isinstance(layer, Instance) and layer.kind in ("module", "wrapper") for layer in real(value)):
                self.emit("module.put", alt, node, value=value)
                if alt is owner:
                    self.check_put_into_head(owner, key, value, node)
            self.put_layer(_holder(alt), key if alt is owner else None, value)
            if isinstance(alt, Dict) or isinstance(alt, Instance) and alt.type == "torch.nn.ModuleDict":
                items = self.store.to_change(alt, "{}") or Items({}, True)
                known = dict(items.known)
                try:
                    known[key.value if isinstance(key, Const) else f"*{len(known)}"] = value
                except TypeError:
                    pass
                self.store.set(alt, "{}", Items(known, items.open or not isinstance(key, Const), items.of_known_kinds))
                if isinstance(alt, Instance):
                    self.register(value)
            elif isinstance(alt, Seq):
                items = self.store.to_change(alt, "[]") or Items((), True)
                n = number(key)
                if isinstance(n, int) and 0 <= n < len(items.known):
                    known_items = (*items.known[:n], value, *items.known[n + 1 :])
                    self.store.set(alt, "[]", Items(known_items, items.open, items.alike))
                else:
                    self.store.set(alt, "[]", Items((*items.known, value)[-8:], True))
            elif isinstance(alt, Opaque):
                self.put_into(alt, value)
                if isinstance(key, Const) and isinstance(key.value, (str, int)):
                    self.store.set(alt, f"[{key.value!r}]", value)
            if isinstance(alt, Ref) and isinstance(key, Const):
                self.emit("setting", alt, node, name=f"{alt.name}[{key.value}]", value=value)
            if isinstance(alt, Tensor):
                self.emit("inplace", alt, node, method="[]=", value=value)
                graphs = {new.traits.get("graph") if isinstance(new, Tensor) else True for new in real(value)}
                if value.flows and graphs != {False}:
                    changed = alt.with_(None, graph=True if graphs == {True} else None)
                    changed.flows = union_of((alt.flows, value.flows))
                    if type(target.value) is cst.Name:
                        self.set_name(target.value.value, changed)

    def _stays_a_number(self, old: Value, value: Value) -> bool:
        """Whether `old += value` has no dimension: what is changed in place keeps its sizes, whatever it meets."""
        adds_one = all(isinstance(alt, Const) or isinstance(alt, Tensor) and self.is_number(alt) for alt in real(value))
        return all(adds_one if isinstance(alt, Const) else isinstance(alt, Tensor) and self.is_number(alt) for alt in real(old))

    def _goes_over(self, target: cst.Subscript) -> bool:
        """Whether something is put under each key in turn: `for key, loss in losses.items(): losses[key] = loss.item()`."""
        loop = self.loops[-1].site if self.loops else None
        node = loop.node if loop is not None and loop.parsed is self.parsed else None
        if type(node) is not cst.For:
            return False
        whole, text = re.escape(self.parsed.text(target.value)), self.parsed.text
        key = text(node.target.elements[0].value) if type(node.target) is cst.Tuple else text(node.target)
        over = re.fullmatch(rf"(?:list\()?{whole}(?:\.keys\(\)|\.items\(\))?\)?", text(node.iter))
        return over is not None and text(target).endswith(f"[{key}]")

    def _without_graphs(self, whole: Value, value: Value) -> None:
        """What a dict holds, once a loop over its keys has put something without a graph in the place of each."""
        if isinstance(whole, Dict) and (items := self.store.get(whole, "{}")) is not None:
            known = {key: value if item.flows else item for key, item in items.known.items()}
            self.store.set(whole, "{}", Items(known, items.open, items.of_known_kinds))
        elif isinstance(whole, Opaque):
            for name in self.store.items_of(whole):
                if self.store.get(whole, name).flows:
                    self.store.set(whole, name, value)
            self.store.set(whole, ANY_ITEM, value)

    def augment(self, node: cst.AugAssign) -> None:
        target = node.target
        old = self.eval(target) if type(target) is not cst.Subscript else self.eval_subscript(target)
        value = self.eval(node.value)
        operator = type(node.operator).__name__.replace("Assign", "")
        self.emit("augment", old, node, operator=operator, value=value, target=target)
        for alt in real(old):
            if isinstance(alt, Seq) and operator == "Add":
                self.gather(alt, value)
                items = self.store.to_change(alt, "[]") or Items((), True)
                more = self.store.get(value, "[]") if isinstance(value, Seq) else self.spread(value)
                more = more or Items((), True)
                alike = items.of_known_kinds and more.of_known_kinds
                ends = self.ends_with(alt, more)
                self.store.set(alt, "[]", Items((*items.known, *more.known), items.open or more.open, alike, last=ends))
                return
        result = self.arithmetic(node, operator, old, value)
        if isinstance(result, Tensor) and self._stays_a_number(old, value):
            result.traits["number"] = True
        if type(result) in (Opaque, Tensor):
            result.name = self.dotted(target).rsplit(".", 1)[-1]
        if type(target) is cst.Subscript:
            self.set_item(target, result, node)
        else:
            self.assign(target, result, quiet=True)


def _holder(place: Value) -> Value:
    """What holds the layers that a place is of: `net._modules["3"]` is a layer of the net's."""
    inner = isinstance(place, Opaque) and place.name == "_modules" and place.source == "attr" and place.origin is not None
    return place.origin if inner else place
