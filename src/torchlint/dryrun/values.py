"""What can be known of a value: its kind, its traits, its parts and where it came from; and of an event, which happens to one.

Values are compared by identity: two names for one optimizer hold the same object. What changes while the program runs
(attributes, list items, modes) lives in the store, not here, so that a branch can be undone.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchlint.dryrun.source_text import Site
    from torchlint.dryrun.values import Event
    from torchlint.sieve.facts import ClassFacts, FileFacts, Unit

NOTHING: frozenset = frozenset()
OF_A_GPU = frozenset({"str", "cuda"})  # tags of a text of which the beginning is known: f"cuda:{index}"
_serial = itertools.count()  # what was made later has a higher one
MOST_BASES = 60  # steps from class to base that are followed: diamonds on diamonds are many
# What torch.nn.Module has itself: a base that comes later in a class's order is not asked for it.
OF_EVERY_MODULE = frozenset(
    """__init__ __call__ add_module apply buffers children cpu cuda double eval float forward half load_state_dict modules named_buffers
    named_children named_modules named_parameters parameters register_buffer register_module register_parameter requires_grad_
    state_dict to train type zero_grad""".split()
)
MOST = 24  # provenance sets are cut at this size: past it nothing certain can be said anyway
MOST_IN_CHAIN = 200  # those of values that were computed from one value after the other


class Event:
    """Something that happens, at a place, to a subject. `loops` are the loops it is in, outermost first; `data` is what
    the kind of event brings along (see `vocabulary.py` for the kinds). `serial` tells which of two was met first."""

    __slots__ = ("calls", "data", "kind", "loops", "next", "prev", "serial", "site", "subject")

    def __init__(self, kind: str, subject: Value | None, site: Site | None, loops: tuple[Loop, ...], calls, data):
        self.serial = next(_serial)
        self.kind, self.subject, self.site, self.loops, self.calls, self.data = kind, subject, site, loops, calls, data
        self.next: list[Event] = []
        self.prev: list[Event] = []

    def __getattr__(self, name: str) -> Any:
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        return self.data.get(name, default)

    def __repr__(self) -> str:
        row = self.site.location().row if self.site else 0
        return f"<{self.kind} {self.subject!r} line {row}>"


class Loop:
    """A loop of the program: what it runs over, and where. `once`: it is one in name only, `for epoch in range(1)`."""

    __slots__ = ("kind", "once", "over", "serial", "site", "target")

    def __init__(self, kind: str, over: Value | None, site: Site | None, once: bool = False):
        self.serial = next(_serial)  # what has a higher one was made in it, or behind it
        self.kind, self.over, self.site, self.once = kind, over, site, once
        self.target = ""


class Value:
    """Anything the program computes. `flows` are the forward events that it came out of, `parts` the values that it was
    computed from by arithmetic."""

    __slots__ = ()
    flows: frozenset[Event] = NOTHING
    parts: frozenset[Value] = NOTHING


class Const(Value):
    """A Python constant."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __repr__(self) -> str:
        return f"Const({self.value!r})"


class Member(Const):
    """A member of an enumeration of the project. Its value is that which its class gives it where that is a text, a number or so, and
    else something of its own."""

    __slots__ = ("cls", "given", "name")

    def __init__(self, cls: Any, name: str, given: Value):
        super().__init__(given.value if isinstance(given, Const) else (cls.name, name))
        self.cls, self.name, self.given = cls, name, given

    def __repr__(self) -> str:
        return f"Member({self.cls.name}.{self.name})"

    def is_same(self, other: Member) -> bool | None:
        """Whether it is the same member; None where one may be another name of the other."""
        if self.cls is not other.cls:
            return False if self.value != other.value else None
        alike = isinstance(self.given, Const) and isinstance(other.given, Const) and self.value == other.value
        return True if self.name == other.name else None if alike else False


NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


ONE_OF_DICTS = "one of dicts"  # where a keyword is from that one dict has and another has not; its origin is these


class Opaque(Value):
    """A value of which little is known. `name` is what the program calls it, `source` how it came to be: "param", "attr",
    "call", "global", "op", "item", "join", `ONE_OF_DICTS`; `origin` is the value that it was read from or called on."""

    __slots__ = ("flows", "name", "origin", "parts", "serial", "site", "source", "tags")

    def __init__(
        self,
        name: str = "",
        source: str = "",
        site: Site | None = None,
        flows: frozenset[Event] = NOTHING,
        parts: frozenset[Value] = NOTHING,
        origin: Value | None = None,
        tags: frozenset[str] = NOTHING,
    ):
        self.name, self.source, self.site, self.origin, self.tags = name, source, site, origin, tags
        self.flows, self.parts = flows, parts
        self.serial = next(_serial)  # which of two values of one expression is the later one

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.source})"


class Tensor(Opaque):
    """A value that is a tensor for certain.

    `traits` maps a trait's name to the value it has and, under the same key in `sites`, the place that gave it. Traits in
    use: act (softmax, log_softmax, sigmoid, relu ...), graph (True/False), leaf, device, layout, made, dim0 (zero-dim),
    rank (how many dimensions it has at least), shape (its sizes), out_of (the call of a model that gave it),
    beside (the call of a model that gave something on the same device), compared (the tensor that a comparison without a graph is of),
    lies_with (the tensor that it was computed from, of which it is known what that came out of).
    """

    __slots__ = ("sites", "traits")

    def __init__(self, name="", source="op", site=None, flows=NOTHING, parts=NOTHING, origin=None, traits=None, sites=None):
        super().__init__(name, source, site, flows, parts, origin)
        self.traits: dict[str, Any] = traits or {}
        self.sites: dict[str, Site] = sites or {}

    def with_(self, site: Site | None = None, **traits: Any) -> Tensor:
        """A tensor computed from this one with some traits set (None takes one away); it has no name yet."""
        new = Tensor("", "op", site or self.site, self.flows, with_parts(self), self, dict(self.traits),
                     dict(self.sites))
        new.traits.pop("param", None)  # whatever is computed from a Parameter is none
        new.traits.pop("rank", None)
        new.traits.pop("shape", None)
        for key, value in traits.items():
            if value is None:
                new.traits.pop(key, None)
                new.sites.pop(key, None)
            else:
                new.traits[key] = value
                if site is not None:
                    new.sites[key] = site
        return new


class Ref(Value):
    """Something outside the project, by its qualified name: `torch.nn.Linear`."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"Ref({self.name})"


class ProjectModule(Value):
    """A file or package of the project."""

    __slots__ = ("facts", "name")

    def __init__(self, name: str, facts: FileFacts):
        self.name, self.facts = name, facts


class Func(Value):
    """A function of the project. `home` is the class whose method it is, `frame` the one it was defined in."""

    __slots__ = ("facts", "frame", "home", "name", "node", "parsed", "unit")

    def __init__(self, name: str, facts: FileFacts, unit: Unit | None = None, home: Class | None = None):
        self.name, self.facts, self.unit, self.home = name, facts, unit, home
        self.node = self.parsed = self.frame = None

    @property
    def key(self) -> Any:
        return self.unit if self.unit is not None else self.node

    def __repr__(self) -> str:
        return f"Func({self.name})"


class Partial(Value):
    """functools.partial of something callable."""

    __slots__ = ("args", "func", "kwargs")

    def __init__(self, func: Value, args: list[Value], kwargs: dict[str, Value]):
        self.func, self.args, self.kwargs = func, args, kwargs


class Class(Value):
    """A class of the project. `bases` are Class, Ref or Opaque values, resolved once; `complete` when all of them are there."""

    __slots__ = ("_order", "bases", "cf", "complete", "facts", "name")

    def __init__(self, cf: ClassFacts, facts: FileFacts):
        self.cf, self.facts, self.name = cf, facts, cf.name
        self.bases: list[Value] = []
        self.complete = False
        self._order: tuple[Value, ...] | None = None

    def mro(self) -> tuple[Value, ...]:
        """This class and its bases, each behind all that derive from it: Python's order wherever Python allows one."""
        if self._order is not None:
            return self._order
        order: dict[int | str, Value] = {}
        todo: list[tuple[Value, tuple[int, ...]]] = [(self, ())]
        for _ in range(MOST_BASES):
            if not todo:
                break
            item, below = todo.pop(0)
            key = item.name if isinstance(item, Ref) else id(item)
            order.pop(key, None)  # what comes again comes later
            order[key] = item
            if isinstance(item, Class):
                below = (*below, id(item))
                todo[:0] = [(base, below) for base in item.bases if id(base) not in below]
        found = tuple(order.values())
        if all(item.complete for item in found if isinstance(item, Class)):
            self._order = found
        return found

    def method(self, name: str, after: Class | None = None) -> tuple[Class, Unit] | None:
        """The class that defines a method and the method's text; `after` starts behind that class, as super() does."""
        passed = after is None
        for cls in self.mro():
            if isinstance(cls, Class):
                if passed and name in cls.cf.methods:
                    return cls, cls.cf.methods[name]
                passed = passed or cls is after
            elif passed and name in OF_EVERY_MODULE and isinstance(cls, Ref) and cls.name.startswith("torch.nn."):
                return None  # torch has it, and asks none of the bases that come later
        return None

    def externals(self) -> list[str]:
        """Qualified names of the bases that are outside the project; "?" for a base that is not known."""
        return [
            item.name if isinstance(item, Ref) else "?" for item in self.mro() if not isinstance(item, Class)
        ]

    def __repr__(self) -> str:
        return f"Class({self.name})"


class Instance(Value):
    """An object made by calling a class: of the project (`cls` is a Class) or of torch (`cls` is a Ref). `name` is what the
    program called it first, `under` are the guards that it was made under, `twins` those that were made alike in the other
    branches of an `if`: it stands for them."""

    __slots__ = ("args", "born", "cls", "complete", "kind", "kwargs", "name", "site", "twins", "under")

    def __init__(self, cls: Class | Ref, kind: str, site: Site | None, args: list[Value], kwargs: dict[str, Value]):
        self.cls, self.kind, self.site, self.args, self.kwargs = cls, kind, site, args, kwargs
        self.born = next(_serial)
        self.name = ""
        self.complete = True  # __init__ was seen to its end
        self.under: tuple = ()
        self.twins: tuple[Instance, ...] = ()

    @property
    def type(self) -> str:
        """The class's name, qualified if it is torch's."""
        return self.cls.name

    def arg(self, position: int, name: str) -> Value | None:
        """A constructor argument by place or name; None where it was not given."""
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if position < len(self.args) else None

    def __repr__(self) -> str:
        return f"Instance({self.cls.name})"


class Seq(Value):
    """A list, tuple or set; its items are in the store under (self, "[]"). `open`: it may hold more than is known."""

    __slots__ = ("born", "flows", "kind", "parts", "site")

    def __init__(self, kind: str, site: Site | None):
        self.kind, self.site, self.born = kind, site, next(_serial)
        self.flows, self.parts = NOTHING, NOTHING


class Dict(Value):
    """A dict; its items are in the store under (self, "{}") as {constant key: value}, "*" for what is not known."""

    __slots__ = ("born", "flows", "parts", "site")

    def __init__(self, site: Site | None):
        self.site, self.born = site, next(_serial)
        self.flows, self.parts = NOTHING, NOTHING


class Iter(Value):
    """An iterator or view over another value: parameters, named_parameters, modules, enumerate, zip, items ..."""

    __slots__ = ("base", "born", "flows", "kind", "name", "once", "opens", "parts", "site")

    def __init__(self, kind: str, base: Value, site: Site | None, once: bool = False):
        self.born = next(_serial)
        self.opens: tuple | None = None  # the contexts that a context manager of the project has open where it yields
        self.kind, self.base, self.site, self.once = kind, base, site, once
        self.name = ""
        self.flows, self.parts = base.flows, NOTHING


class Method(Value):
    """A bound method: the receiver and the method's name, with the function where the project defines it."""

    __slots__ = ("func", "name", "owner")

    def __init__(self, owner: Value, name: str, func: Func | None = None):
        self.owner, self.name, self.func = owner, name, func

    @property
    def flows(self):
        return self.owner.flows


class Super(Value):
    """super() inside a method of `home`, on `owner`."""

    __slots__ = ("home", "owner")

    def __init__(self, owner: Value, home: Class):
        self.owner, self.home = owner, home


class Union(Value):
    """One of several values: what a branch left open."""

    __slots__ = ("alts",)

    def __init__(self, alts: tuple[Value, ...]):
        self.alts = alts

    @property
    def flows(self):
        return union_of(alt.flows for alt in self.alts)

    @property
    def parts(self):
        return union_of(alt.parts for alt in self.alts)

    def __repr__(self) -> str:
        return f"Union{self.alts}"


UNSET = Const("<not set>")  # a name that one path has set and another has not


def union_of(sets) -> frozenset:
    """The union of provenance sets, cut to a size that stays cheap, and the same in each run: the layers inside of models
    go first, then what came last, and of that the oldest."""
    found = NOTHING
    for item in sets:
        if item and item is not found and not item <= found:
            both = found | item if found else item
            found = _cut(both, found) if found and len(both) > MOST else both
    return found


def with_parts(value: Value) -> frozenset[Value]:
    """A value and what it was computed from; at the end of a chain of hundreds, the newest of it."""
    parts = value.parts | {value}
    if len(parts) > MOST_IN_CHAIN:
        parts = frozenset(sorted(parts, key=_age)[-MOST_IN_CHAIN // 2 :])
    return parts


def parts_in_order(value: Value) -> list[Value]:
    """What a value was computed from, the oldest first. Who goes back over so many of them and no more has to see the same ones in
    each run: a set's own order is that of addresses."""
    return sorted(value.parts, key=_age)


def _cut(both: frozenset, first: frozenset) -> frozenset:
    """Those of `both` that are worth most; of equal ones, those of `first`. A set's own order would be that of addresses, which
    differ from run to run."""
    if len(first) == MOST and not any(map(_inside, first)):
        return first
    ranked = sorted(both, key=_age, reverse=True)
    ranked.sort(key=lambda item: (_inside(item), item not in first))
    return frozenset(ranked[:MOST])


def _age(item: object) -> tuple[int, str]:
    """What orders values and events by when they were made; constants, which nobody counts, by what they are."""
    made = getattr(item, "serial", None)
    made = getattr(item, "born", None) if made is None else made
    return (made, "") if made is not None else (-1, repr(item))


def _inside(item: object) -> bool:
    """Whether it is a call of a layer inside of a model."""
    return type(item) is Event and bool(item.data) and bool(item.data.get("inside"))


def alternatives(value: Value) -> tuple[Value, ...]:
    """What a value may be."""
    return value.alts if isinstance(value, Union) else (value,)


def real(value: Value | None) -> tuple[Value, ...]:
    """What a value may be when it is used as an object: a use of None or of an unset name raises, so those are out."""
    if value is None:
        return ()
    if not isinstance(value, Union):
        return () if value is UNSET or isinstance(value, Const) and value.value is None else (value,)
    return tuple(alt for alt in alternatives(value) if not (isinstance(alt, Const) and alt.value is None) and alt is not UNSET)


def from_file(value: Value | None) -> bool:
    """Whether something comes out of what a `torch.load` read."""
    while isinstance(value, Opaque) and value.origin is not None and "loaded" not in value.tags:
        value = value.origin
    return isinstance(value, Opaque) and "loaded" in value.tags


def same_class(a: Value, b: Value) -> bool:
    """Whether two values are one class for certain. Of names outside of the project, CamelCase are classes."""
    if isinstance(a, Ref) and isinstance(b, Ref):
        return a.name == b.name and a.name.rpartition(".")[2][:1].isupper()
    return isinstance(a, Class) and a is b


def join(a: Value, b: Value) -> Value:
    """What is known where two paths meet."""
    if a is b:
        return a
    if type(a) is not Union and type(b) is not Union:
        if same(b, a):
            return a
        one = _merged(a, b)
        return Union((a, b)) if one is None else one
    alts = list(alternatives(a))
    for alt in alternatives(b):
        for n, have in enumerate(alts):
            if alt is have or same(alt, have):
                break
            merged = _merged(have, alt)
            if merged is not None:
                alts[n] = merged
                break
        else:
            alts.append(alt)
    if len(alts) == 1:
        return alts[0]
    if len(alts) > 4 + (UNSET in alts):
        lost = Union(tuple(alt for alt in alts if isinstance(alt, Instance))[:8])  # whoever is given it is given one of these
        flows, parts = union_of(alt.flows for alt in alts), union_of(alt.parts for alt in alts)
        return Opaque("", "join", flows=flows, parts=parts, origin=lost, tags=_kind_of(alts))
    return Union(tuple(alts))


_MODEL, _STATE = frozenset({"module"}), frozenset({"state_dict"})


def _kind_of(alts: list[Value]) -> frozenset[str]:
    """What all of many are: models, or the state of one, `model.state_dict()` behind four ways to wrap it."""
    if all(type(alt) is Opaque and "state_dict" in alt.tags for alt in alts):
        return _STATE
    return _MODEL if _all_models(alts) else NOTHING


def _all_models(alts: list[Value]) -> bool:
    """Whether each of several is a model: what stands beside models and was read from a file is one that was saved whole."""
    used = [alt for value in alts for alt in real(value)]
    return any(map(_is_model, used)) and all(_is_model(alt) or from_file(alt) for alt in used)


def _is_model(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper")
    return type(value) is Opaque and ("module" in value.tags or value.name == "module" and value.origin is not None and _is_model(value.origin))


def _merged(old: Value, new: Value) -> Value | None:
    """One value for two that the same expression made, in different iterations: what is true of both. None if they are not."""
    kind = type(old)
    if kind is Instance and type(new) is Instance:
        if new not in old.twins:
            if not alike(old, new) or not exclude_each_other(old.under, new.under):
                return None
            old.twins = (*old.twins, new, *new.twins)
        return old
    if kind is not type(new) or kind is not Opaque and kind is not Tensor or new.site is None or old.site is None:
        return None
    if old.serial > new.serial:
        old, new = new, old
    if old.site.node is not new.site.node or old.source != new.source or old.origin is not new.origin:
        return None
    if kind is Tensor and old.traits != new.traits:
        if old.traits.get("act") != new.traits.get("act"):
            return None  # two functions are called here: `self.last = F.softmax if own else F.log_softmax`
        traits = {key: value for key, value in new.traits.items() if key in old.traits and _is_so_of_both(key, old.traits[key], value)}
        sites = {key: site for key, site in new.sites.items() if key in traits}
        return Tensor(new.name, new.source, new.site, union_of((new.flows, old.flows)), union_of((new.parts, old.parts)), new.origin,
                      traits, sites)
    new.flows, new.parts = union_of((new.flows, old.flows)), union_of((new.parts, old.parts))
    return new


def _is_so_of_both(trait: str, one: Any, other: Any) -> bool:
    if trait == "layout" and isinstance(one, tuple) and isinstance(other, tuple):  # what transposed them, and what that was given
        return one[0] == other[0] and len(one[1]) == len(other[1]) and all(map(same, one[1], other[1]))
    return one is other


def alike(a: Value, b: Value) -> bool:
    """Whether two values were made in the same way: in the two branches of an `if`, whichever ran, the same is known."""
    if same(a, b):
        return True
    if isinstance(a, Iter) and isinstance(b, Iter):
        return a.kind == b.kind and alike(a.base, b.base)
    if isinstance(a, Instance) and isinstance(b, Instance):
        if a.kind != b.kind or not (a.cls is b.cls or same(a.cls, b.cls)) or len(a.args) != len(b.args) or a.kwargs.keys() != b.kwargs.keys():
            return False
        given = zip([*a.args, *a.kwargs.values()], [*b.args, *(b.kwargs[name] for name in a.kwargs)])
        return all(alike(one, other) for one, other in given)
    if isinstance(a, (Seq, Dict)) or type(a) in (Opaque, Tensor) and a.source in ("op", "call", "made"):
        return type(a) is type(b) and a.site is not None and b.site is not None and a.site.text() == b.site.text()
    return False


def exclude_each_other(one, other) -> bool:
    """Whether what stands under the one guards and what stands under the others never happen both."""
    mine = {guard.condition: guard.when for guard in one}
    if not mine:
        return False
    if any(mine.get(guard.condition, guard.when) is not guard.when for guard in other):
        return True
    numbers = [guard for guard in one if guard.compared is not None]
    return bool(numbers) and any(guard.compared is not None and any(guard.excludes(its) for its in numbers) for guard in other)


def same(a: Value, b: Value) -> bool:
    """Whether two values are one and the same, as far as anything here can tell."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is Const:
        return type(a.value) is type(b.value) and (a.value == b.value or a.value != a.value)
    if kind is Member:
        return a.is_same(b) is True
    if kind is Ref:
        return a.name == b.name
    return kind is Method and a.owner is b.owner and a.name == b.name


def number(value: Value | None) -> int | float | None:
    """The number a value is for certain."""
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
        return value.value
    return None


def says_cuda(value: Value | None) -> bool:
    """Whether a value is a text that begins with "cuda", for certain."""
    if isinstance(value, Opaque):
        return "cuda" in value.tags
    return isinstance(value, Const) and isinstance(value.value, str) and value.value.startswith("cuda")


def now() -> int:
    """A number between those of what was made and of what will be."""
    return next(_serial)


def boolean(value: Value | None) -> bool | None:
    """The truth value a value has for certain."""
    if isinstance(value, Const):
        return bool(value.value)
    return None
