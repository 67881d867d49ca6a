"""Lists, tuples, sets and dicts: how they are written, what is known to be in them, what their items and methods give."""

from __future__ import annotations

import functools

import libcst as cst

from torchlint.catalogue.effects import ARRAYS, WAYS_OUT
from torchlint.dryrun.store import ANY_ITEM, Items
from torchlint.dryrun.values import (
    NONE,
    NOTHING,
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Iter,
    Opaque,
    Partial,
    ProjectModule,
    Ref,
    Seq,
    Tensor,
    Value,
    join,
    number,
    real,
    union_of,
)

CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.ParameterList",
                        "torch.nn.ParameterDict"})
BATCHY = frozenset({"batch", "batch?"})
TORCH = frozenset({"torch?"})  # only a tensor has a method of that name
_MOST_IN_ORDER = 64  # items that one line after the other appends: each is known by its place
_MOST_IN_ANY_ORDER = 12  # of a list that may hold others, too


def _read_from(value: Value) -> Tensor | None:
    """The tensor that a value is, or whose numbers it is as an array or a list: it has the sizes of that."""
    if type(value) is Opaque and value.source == "call" and value.name in ARRAYS:
        value = value.origin
    return value if isinstance(value, Tensor) else None


def _of_old_releases(node: cst.BaseExpression) -> bool:
    """Whether something is read out by way of `data`, as all programs for torch 0.3 did: `x.data`, `x.data.cpu().numpy()`."""
    while type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value in WAYS_OUT:
        node = node.func.value
    return type(node) is cst.Attribute and node.attr.value == "data"


def is_layer(value: Value | None) -> bool:
    """Whether a value is one of torch's own layers, and no container of others."""
    return isinstance(value, Instance) and isinstance(value.cls, Ref) and value.type.startswith("torch.nn.") and value.type not in CONTAINERS


class Containers:
    """The part of a run that knows what is in a container. See `interpreter.Run` for the state it works on."""

    def eval_sequence(self, node) -> Value:
        kind = {cst.List: "list", cst.Tuple: "tuple", cst.Set: "set"}[type(node)]
        items, is_open, alike = [], False, True
        for element in node.elements:
            if type(element) is cst.StarredElement:
                inner = self.spread(self.eval(element.value))
                items.extend(inner.known)
                is_open, alike = is_open or inner.open, alike and inner.of_known_kinds
            else:
                items.append(self.eval(element.value))
        return self.sequence(kind, items, node, is_open, alike)

    def sequence(self, kind: str, items: list[Value], node: cst.CSTNode | None, is_open: bool = False, alike: bool = False) -> Seq:
        seq = Seq(kind, self.site(node) if node is not None else None)
        seq.flows = union_of(item.flows for item in items)
        seq.parts = union_of(item.parts for item in items)
        # A tuple is what it is on all paths; what becomes of a list depends on the path.
        (self.base_store if kind == "tuple" else self.store).set(seq, "[]", Items(tuple(items), is_open, alike))
        self.made_in[id(seq)] = self.loops
        self.keep.append(seq)
        return seq

    def eval_dict(self, node: cst.Dict) -> Value:
        known, is_open = {}, False
        for element in node.elements:
            if type(element) is cst.StarredDictElement:
                inner = self.eval(element.value)
                items = self.store.get(inner, "{}") if isinstance(inner, Dict) else None
                if items is None:
                    is_open = True
                else:
                    known.update(items.known)
                    is_open = is_open or items.open
                continue
            key, value = self.eval(element.key), self.eval(element.value)
            try:
                known[key.value if isinstance(key, Const) else f"*{len(known)}"] = value
            except TypeError:
                is_open = True
        return self.mapping(known, node, is_open)

    def mapping(self, known: dict, node: cst.CSTNode | None, is_open: bool = False, alike: bool = False) -> Dict:
        made = Dict(self.site(node) if node is not None else None)
        made.flows = union_of(item.flows for item in known.values())
        self.store.set(made, "{}", Items(known, is_open, alike))
        return made

    def items_of(self, value: Value) -> tuple[Value, ...] | None:
        """The items of a list or tuple if they are all known."""
        if isinstance(value, Seq):
            items = self.store.get(value, "[]")
            if items is not None and not items.open:
                return items.known
        if isinstance(value, Instance) and value.type in CONTAINERS and value.kind == "module":
            items = self.store.get(value, "[]")
            if items is not None and not items.open:
                return items.known
        return None

    def spread(self, value: Value) -> Items:
        """What a list is given where all of something goes into it: `[*more]`, `a + more`, `a.extend(more)`."""
        known = self.items_of(value)
        if known is not None:
            return Items(known)
        if isinstance(value, Iter) and value.kind == "parameters":
            each = self.element(value)
            each.traits["each"] = True  # it stands for all that the module has
            return Items((each,), True, True)
        if isinstance(value, Seq):
            items = self.store.get(value, "[]")
            return items if items is not None and items.alike else Items((), True)
        each = [self.spread(alt) for alt in alts] if len(alts := real(value)) > 1 else []
        return functools.reduce(Items.join, each) if each else Items((), True)

    def known_items(self, value: Value) -> tuple[Value, ...]:
        """Those items of a container that are known, also where there may be more."""
        if isinstance(value, (Seq, Instance)):
            items = self.store.get(value, "[]")
            if items is not None:
                return items.known
        if isinstance(value, Dict) or isinstance(value, Instance):
            items = self.store.get(value, "{}")
            if items is not None:
                return tuple(items.known.values())
        return ()

    def items_now(self, value: Value | None) -> Items | None:
        """The items of a dict as they are now, as a later branch may blur them: of one that may be another one, too, or may not be
        there yet, as it is made in a loop."""
        held = [self.store.get(alt, "{}") if isinstance(alt, Dict) else None for alt in real(value)]
        if not held or any(items is None for items in held):
            return None
        return functools.reduce(Items.join, held)

    def is_of_known_kinds(self, value: Value) -> bool:
        """Whether each item of a list or dict is known, or is made where a known one is."""
        if isinstance(value, Iter) and value.kind == "generator":
            value = value.base
        items = self.store.get(value, "[]") or self.store.get(value, "{}") if isinstance(value, (Seq, Dict, Instance)) else None
        return items is not None and items.of_known_kinds

    def is_at_home(self, owner: Value) -> bool:
        """Whether a list or container is changed where it is made, and not in a loop behind that."""
        return self.made_in.get(id(owner), ()) == self.loops

    def ends_with(self, owner: Value, added: Items) -> Value | None:
        """What a list ends with that some more is added to."""
        known = added.last if added.open else added.known[-1] if added.known else None
        return known if self.is_at_home(owner) else None

    def gather(self, owner: Seq | Dict, value: Value) -> None:
        """Notes that what a value was computed from is in a list or dict by now."""
        owner.flows = union_of((owner.flows, value.flows))
        owner.parts = union_of((owner.parts, frozenset({value}) if isinstance(value, Opaque) else NOTHING, value.parts))

    def container_method(self, owner: Value, name: str, args, kwargs, node) -> Value:
        if isinstance(owner, Seq):
            adds = name in ("append", "add", "appendleft", "insert", "extend", "update")  # and does not ask what is in it
            items = (self.store.to_change if adds else self.store.get)(owner, "[]") or Items((), True)
            if name in ("append", "add", "appendleft", "insert") and args:
                self.emit("append", owner, node, value=args[-1])
                self.gather(owner, args[-1])
                is_open = items.open or bool(self.loops) or name != "append" or len(items.known) >= _MOST_IN_ORDER
                known = items.known if is_open and args[-1] in items.known else (*items.known, args[-1])
                last = args[-1] if name == "append" and self.is_at_home(owner) else None
                alike = items.of_known_kinds and len(known) <= _MOST_IN_ANY_ORDER
                self.store.set(owner, "[]", Items(known[-_MOST_IN_ANY_ORDER:] if is_open else known, is_open, alike, last=last))
                return NONE
            if name in ("extend", "update") and args:
                added = self.spread(args[0])
                more = (*items.known, *(added.known or self.known_items(args[0])))
                self.gather(owner, args[0])
                is_open = items.open or added.open or len(more) > _MOST_IN_ORDER
                alike = items.of_known_kinds and (added.of_known_kinds or self.is_of_known_kinds(args[0])) and len(more) <= _MOST_IN_ANY_ORDER
                known = more[-_MOST_IN_ANY_ORDER:] if is_open else more
                self.store.set(owner, "[]", Items(known, is_open, alike, last=self.ends_with(owner, added)))
                return NONE
            if name in ("clear",):
                self.store.set(owner, "[]", Items(()))
                return NONE
            if name in ("copy",):
                return self.sequence(owner.kind, list(items.known), node, items.open, items.alike)
            if name == "pop":
                self.store.set(owner, "[]", Items(items.known, True, items.of_known_kinds))
                return self.element(owner)
            return Opaque(name, "call")
        items = (self.store.to_change if name == "update" else self.store.get)(owner, "{}") or Items({}, True)
        if name in ("items", "values", "keys"):
            return Iter(name, owner, self.site(node))
        if name in ("get", "pop", "setdefault") and args:
            value = items.known.get(args[0].value) if isinstance(args[0], Const) and args[0].value.__hash__ else None
            if value is not None:
                return value
            default = args[1] if len(args) > 1 else NONE
            if not isinstance(args[0], Const) and items.known and not items.open:
                return join(self.item(owner, [args[0]], node), default)  # under whatever key that is
            return join(Opaque(name, "item", None, NOTHING, NOTHING, owner), default) if items.open else default
        if name == "update":
            known = dict(items.known)
            if args and isinstance(args[0], Dict):
                other = self.store.get(args[0], "{}") or Items({}, True)
                known.update(other.known)
                self.store.set(owner, "{}", Items(known, items.open or other.open, items.of_known_kinds and other.of_known_kinds))
            else:
                known.update(kwargs)
                self.store.set(owner, "{}", Items(known, items.open or bool(args)))
            return NONE
        if name == "copy" and isinstance(owner, Dict):
            return self.mapping(dict(items.known), node, items.open)
        return Opaque(name, "call")

    # -- items ----------------------------------------------------------------------------------------------------

    def eval_subscript(self, node: cst.Subscript) -> Value:
        owner = self.eval(node.value)
        keys = []
        for element in node.slice:
            if type(element.slice) is cst.Index:
                keys.append(self.eval(element.slice.value))
            else:
                for part in (element.slice.lower, element.slice.upper, element.slice.step):
                    if part is not None:
                        self.eval(part)
                keys.append(None)
        alts = real(owner)
        if len(keys) == 1 and type(keys[0]) is Const and keys[0].value == 0 and keys[0].value is not False:
            self.first_of(alts, node)
        if len(alts) == 1:
            self.last_of(alts[0], keys, node)
        found = [self.item(alt, keys, node) for alt in alts]
        if not found:
            return Opaque("", "item")
        result = found[0]
        for alt in found[1:]:
            result = join(result, alt)
        return result

    def first_of(self, alts: tuple[Value, ...], node: cst.Subscript) -> None:
        """Tells of a number that is asked for its first item, and of what may be one: `x.data[0]`, `x.data.cpu().numpy()[0]`."""
        tensors = [_read_from(alt) for alt in alts]
        tensor = next((one for one in tensors if one is not None), None)
        if tensor is not None and all(number(alt) is not None or one is not None and self.is_number(one) for alt, one in zip(alts, tensors)):
            self.emit("first", tensor, node, known=True)
        elif _of_old_releases(node.value) and all(isinstance(alt, Opaque) for alt in alts):
            self.emit("first", alts[0] if alts else None, node, known=False)

    def is_number(self, tensor: Tensor) -> bool:
        """Whether a tensor has no dimension; `x.data` has those of `x`."""
        whole = tensor.traits.get("alias", tensor)
        return bool(tensor.traits.get("number")) or self.shape_of(whole).rank == 0

    def item(self, owner: Value, keys: list[Value | None], node: cst.CSTNode) -> Value:
        key = keys[0] if len(keys) == 1 else None
        if isinstance(owner, (Seq, Instance)):
            items = self.store.get(owner, "[]")
            if items is not None:
                n = number(key)
                if isinstance(n, int) and not items.open and -len(items.known) <= n < len(items.known):
                    return items.known[n]
                if key is None and isinstance(owner, Seq):
                    return self.sequence(owner.kind, list(items.known), node, True)
                if items.known and not items.open:
                    result = items.known[0]
                    for alt in items.known[1:]:
                        result = join(result, alt)
                    return result
        if isinstance(owner, ProjectModule) and isinstance(key, Const) and isinstance(key.value, str):
            return self.attribute(owner, key.value, node)
        if isinstance(owner, Ref):
            of = Ref(owner.name.removesuffix(".__dict__")) if owner.name.endswith(".__dict__") else None
            picked = self.picked(of) if of is not None else None
            if picked is not None:
                return picked
        if isinstance(owner, (Dict, Instance)):
            items = self.store.get(owner, "{}")
            few = items is not None and key is not None and not isinstance(key, Const) and not items.open and 0 < len(items.known) <= 4
            if few and all(isinstance(item, (Ref, Class, Func, Partial)) for item in items.known.values()):
                return functools.reduce(join, items.known.values())  # a table of classes or functions: one of them
            if isinstance(owner, Dict) and few and len(items.known) == 1:
                return next(iter(items.known.values()))  # that, or a KeyError
            if items is not None and key is not None and not isinstance(key, Const) and not items.open:
                picked = self.picked_out_of(items.known.values())
                if picked is not None:
                    return picked
            if items is not None and isinstance(key, Const):
                try:
                    if key.value in items.known:
                        return items.known[key.value]
                except TypeError:
                    pass
        if isinstance(owner, Tensor):
            whole = all(k is None or isinstance(k, Const) and k.value is None for k in keys)
            self.emit_taken(owner, keys, node)
            self.emit_indexed(owner, keys, node)
            part = owner.with_(None) if whole else owner.with_(None, maybe0=True)
            if not whole or not self.lies_as_before(owner, node):
                part.traits.pop("layout", None)
                part.sites.pop("layout", None)
            return self.item_shape(owner, keys, part, node)
        if isinstance(owner, Opaque):
            if isinstance(key, Const) and isinstance(key.value, (str, int)):
                name = f"[{key.value!r}]"
                found = self.store.get(owner, name) or self.store.get(owner, ANY_ITEM)
                if found is None:
                    found = self.indices(owner, key.value, node) or Opaque(str(key.value), "item", None, owner.flows, owner.parts, owner, owner.tags & BATCHY)
                    found = self.note_item(found, owner, keys, node)
                    self.base_store.set(owner, name, found)
                return found
            self.emit_taken_of_batch(owner, keys, node)
            return self.note_item(Opaque("", "item", None, owner.flows, owner.parts, owner, owner.tags & BATCHY), owner, keys, node)
        return Opaque("", "item", None, owner.flows, owner.parts, owner)
