"""Which units of a file can matter: those that some rule has anything to say of, by the words in them and in what they call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from torchlint.catalogue.effects import KEEP_RESULT
from torchlint.catalogue.protocols import IMPLIED, LIGHTNING_STEPS
from torchlint.catalogue.torchvision_models import builders
from torchlint.dryrun.reach import Reach
from torchlint.dryrun.torchvisions import TORCHVISION, Torchvisions
from torchlint.dryrun.world import World
from torchlint.rules.needs import Met
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit, units_of

# What of __init__ matters to what other methods do.
PASSED_ON = frozenset(
    {"!sized", "!container", "!leaf", "!kept", "!kept?", "!repeat", "!sequence", "!setattr", "DistributedSampler", "parameters"}
)
# Marks of statements that a rule shows: a run of the file that they stand in comes to them, too.
_OF_ITS_FILE = frozenset({"!state", "!best", "!loading", "!loose"})
# Of what an object runs where it is made or called: marks for which it is judged by itself, whoever made it.
_OF_ITS_BODY = frozenset({"!init", "!nan"})
_RUN_BY_CALLS = ("__init__", "forward", "__call__")
_LOOKED_AT = "="  # before a name whose words are among some: no word begins with it
_MOST_HANDS = 4  # files that hand a name on
_TRAINING = frozenset({"backward", "step"})
_ASKED = re.compile(r"\b(\w+)\s*[(.]")  # names that are called, or asked for a part
_SAID_TO_MODELS = frozenset(name.rpartition(".")[2] for name in builders()) | {"!pretrained"}


class Relevance:
    """Which units of a file can matter, by the words in them and in what they call.

    Args:
        met: tells of a set of words whether some rule has anything to say of it.
    """

    def __init__(self, world: World, facts: FileFacts, met: Callable[[set[str]], bool] | None):
        self.world, self.facts, self.met = world, facts, met or (lambda words: True)
        self.all = met is None
        self.named: dict[str, list[Unit]] = {}
        for unit in units_of(facts):
            if unit.name[0] != "<" and unit.name not in ("__init__", "forward"):
                self.named.setdefault(unit.name, []).append(unit)
        # What makes an object of a class runs its __init__, and what calls that, its forward.
        self._made: dict[str, list[Unit]] = {}
        for cf in facts.all_classes():
            self._made.setdefault(cf.name, []).extend(cf.methods[name] for name in _RUN_BY_CALLS if name in cf.methods)
        # Of the words that nobody asks for there may be thousands to each unit.
        self._kept = met.words | IMPLIED.keys() | PASSED_ON if isinstance(met, Met) else None
        self._torchvisions = Torchvisions(world)
        self._kinds: dict[int, frozenset | None] = {}  # by the unit's id
        self._from_project: dict[str, bool] = {}
        self.given = _given(facts)
        self._inherit(facts, 3)
        if self._kept is not None:
            leads = self._kept | self.named.keys() | self._made.keys()
            self.given = {name: words & leads for name, words in self.given.items()}
        self._reach: Reach[_Node | str] = Reach(self._own, self._onward)
        self._imported: dict[str, frozenset[str]] = {}
        setters: dict[str, list[Unit]] = {}
        for item in facts.body:
            for name in item.binds if isinstance(item, Unit) else ():
                setters.setdefault(name, []).append(item)
        # By name, the number of the group of statements that set it; of each group the statements, and their words.
        numbers: dict[tuple[int, ...], int] = {}
        self._group = {name: numbers.setdefault(tuple(map(id, units)), len(numbers)) for name, units in setters.items()}
        self._setters = {self._group[name]: units for name, units in setters.items()}
        self._of_setters: dict[int, set[str]] = {}

    def _inherit(self, facts: FileFacts, depth: int) -> None:
        """Adds what attributes are given in the other files of the project that base classes come from."""
        names = {base.split(".")[0] for cf in facts.all_classes() for base in cf.bases}
        for name in sorted(names & facts.imports.keys()):
            qualified = facts.imports[name]
            around = qualified.rpartition(".")[0] or "."
            path = self.world.resolve(qualified, facts.path) or self.world.resolve(around, facts.path)
            inner = self.world.facts(path) if path is not None and path != facts.path else None
            if inner is not None and depth:
                for key, words in _given(inner).items():
                    self.given[key] = self.given.get(key, frozenset()) | words
                self._inherit(inner, depth - 1)

    def words(self, *units: Unit) -> set[str]:
        """The words of some units and of the functions of the project that they mention, as far as anybody asks for them."""
        found = set().union(*(self._reach.of(unit) for unit in map(_Node, units)))
        for name in IMPLIED.keys() & found:
            found |= IMPLIED[name]
        return found

    def _own(self, node: _Node | str) -> Iterable[str]:
        """The words of a unit, and what is known of the names in it; a name that leads on has none of its own."""
        if isinstance(node, str):
            return ()
        unit = node.unit
        found = set(unit.words)
        for name in unit.words:
            if name in self.given:
                found |= self.given[name]
            if name not in self.named and name in self.facts.imports:
                found.add(self.facts.imports[name].partition(".")[0] or ".")
                found |= self.imported(name)
                inner = self.module(name)
                if inner is not None:
                    for other in unit.words & inner.functions.keys():
                        found |= _reach(inner, other)
                    for other in unit.words & inner.classes.keys():
                        found |= _of_class(inner, other)
        if self._hands_to_torchvision(found):
            found.add(TORCHVISION)
        if type(node) is _Made:
            found -= _OF_ITS_BODY
        return found if self._kept is None else found & self._kept

    def _hands_to_torchvision(self, words: set[str]) -> bool:
        """Whether words speak of a model's `pretrained` and of torchvision, which nearly all that say `pretrained` do not."""
        return not _SAID_TO_MODELS.isdisjoint(words) and self._torchvisions.among(self.facts, words)

    def _onward(self, node: _Node | str) -> Iterable[_Node | str]:
        """A unit leads to the names in it that functions have, and these to the functions: there may be thousands of one name."""
        if isinstance(node, str):
            return [*map(_Node, self.named.get(node, ())), *map(_Made, self._made.get(node, ()))]
        words = node.unit.words.union(*(self.given[name] for name in node.unit.words & self.given.keys()))
        return (words & self.named.keys()) | (words & self._made.keys())

    def imported(self, name: str) -> frozenset[str]:
        """The words of a function or class that is imported from another file of the project."""
        if name not in self._imported:
            self._imported[name] = frozenset()
            self._imported[name] = self._words_of(self.facts.imports[name], self.facts.path, _MOST_HANDS)
        return self._imported[name]

    def _words_of(self, qualified: str, importer: str, hands: int) -> frozenset[str]:
        """The words of what a qualified name stands for, as a file would import it; a package may have it from elsewhere."""
        base, _, last = qualified.rpartition(".")
        path = self.world.resolve(base, importer) if base.strip(".") or base else None
        inner = self.world.facts(path) if path is not None else None
        if inner is None:
            return frozenset()
        if last in inner.functions:
            return _reach(inner, last)
        if last in inner.classes:
            return _of_class(inner, last)
        if last in inner.imports and hands:
            return self._words_of(inner.imports[last], inner.path, hands - 1)
        found = _given(inner).get(last, frozenset())
        for star in inner.stars if hands and not found else ():
            found |= self._words_of(f"{star}.{last}" if star.strip(".") else star + last, inner.path, hands - 1)
        return found

    def module(self, name: str) -> FileFacts | None:
        """The file that an imported name stands for, where it is a whole file: `from project import helpers`."""
        path = self.world.resolve(self.facts.imports[name], self.facts.path)
        return self.world.facts(path) if path is not None and path != self.facts.path else None

    def unit(self, unit: Unit) -> bool:
        """Whether a function can matter."""
        return self.met(self.words(unit))

    def statements(self, unit: Unit) -> bool:
        """Whether statements outside functions can matter, together with those that set what they mention."""
        words = self.words(unit)
        # A name may be set by thousands of statements, which all mention it; and one of these may set thousands of names.
        for group in {self._group[name] for name in unit.words & self._group.keys()}:
            if group not in self._of_setters:
                self._of_setters[group] = self.words(*self._setters[group])
            words |= self._of_setters[group]
        return self.met(words)

    def kind(self, unit: Unit) -> frozenset | None:
        """What of the project a function leads to, where only that can matter and not what it does itself: such functions
        differ in what they pass, as the 50 that build one model in 50 sizes. Of functions of its file that are such themselves
        it is what these lead to. None for all others."""
        if id(unit) not in self._kinds:
            self._kinds[id(unit)] = None  # of one that comes back to itself
            self._kinds[id(unit)] = self._kind(unit)
        return self._kinds[id(unit)]

    def _kind(self, unit: Unit) -> frozenset | None:
        own = set(unit.words)
        if self._hands_to_torchvision(own):
            own.add(TORCHVISION)
        if self.all or self.met(own):
            return None
        functions, found = self.facts.functions, set()
        for word in self._mentioned(unit):
            if word not in functions:
                found.add(word)
            elif self.unit(functions[word]):
                found |= self.kind(functions[word]) or {word}
        return frozenset(found)

    def _mentioned(self, unit: Unit) -> set[str]:
        """Names of the project in a function. One that it only hands on, as the layer that a model is to be built of, counts
        where something is trained: the same training of another model is another one."""
        words, functions = set(unit.words), self.facts.functions
        if _TRAINING.isdisjoint(self.words(unit)):
            words &= functions.keys() | set(_ASKED.findall("\n".join(self.facts.lines[unit.start - 1 : unit.end])))
        known = (functions, self.facts.classes, self.named)
        return {word for word in words if any(word in names for names in known) or self._is_of_project(word)}

    def _is_of_project(self, name: str) -> bool:
        """Whether a name is imported from another file of the project, or is one."""
        if name not in self._from_project:
            qualified = self.facts.imports.get(name, "")
            around = qualified.rpartition(".")[0] or "." * qualified.startswith(".")
            self._from_project[name] = any(one and self.world.resolve(one, self.facts.path) is not None for one in (qualified, around))
        return self._from_project[name]

    def cls(self, cf: ClassFacts) -> list[Unit]:
        """The methods of a class that can matter. What __init__ sets is seen together with each of them."""
        init = cf.methods.get("__init__")
        start = self.words(init) if init is not None else set()
        marks = (start & PASSED_ON) | {"!class"}
        found = []
        for name, unit in cf.methods.items():
            words = start | {"!class"} if name == "__init__" else self.words(unit) | marks
            if name == "forward":
                words |= {word for word in start if word[0] != "!"} | {"!forward"}
            if name in LIGHTNING_STEPS:
                words.add("!step")
            words |= IMPLIED.get(name, frozenset())
            if self.met(words):
                found.append(unit)
        return found


class _Node:
    """A unit as a node: the same one for the same unit, by which object it is."""

    __slots__ = ("unit",)

    def __init__(self, unit: Unit):
        self.unit = unit

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.unit is self.unit

    def __hash__(self) -> int:
        return id(self.unit)


class _Made(_Node):
    """The same, as what runs because an object was made or called."""

    __slots__ = ()


def _reach(facts: FileFacts, name: str) -> frozenset[str]:
    """The words of a function and of the functions and names of its own file that it mentions."""
    if name not in facts.reach:
        given = facts.given = facts.given or _given(facts)

        def words(one: str) -> frozenset[str]:
            unit = facts.functions.get(one)
            return given.get(one, frozenset()) | (unit.own_words if unit is not None else frozenset())

        Reach(
            lambda one: (words(one) - _OF_ITS_FILE) | {_LOOKED_AT + one},
            lambda one: [word for word in words(one) if word in facts.functions or word in given],
            facts.reach,
        ).of(name)
    found, functions, seen = facts.reach[name], facts.functions, facts.seen.units
    seen["gives"].update(units_of(facts))
    seen["words"].update(functions[word[1:]] for word in found if word.startswith(_LOOKED_AT) and word[1:] in functions)
    return found


def _of_class(facts: FileFacts, name: str) -> frozenset[str]:
    """The words of what a class of another file does."""
    methods = facts.classes[name].methods.items()
    return frozenset().union(*(unit.words for key, unit in methods if key not in ("__init__", "forward"))) - _OF_ITS_FILE


def _given(facts: FileFacts) -> dict[str, frozenset[str]]:
    """By attribute or global name: the classes and functions its value is made of, wherever in the file that is set."""
    found: dict[str, set[str]] = {}
    for unit in units_of(facts):
        for name, words in unit.gives.items():
            found.setdefault(name, set()).update(words)
            kept = words & KEEP_RESULT
            if kept:  # what is written onto what it gave is written onto what they gave
                found.setdefault(f"!onto {name}", set()).update(f"!onto {word}" for word in kept)
    return {name: frozenset(words) for name, words in found.items()}
