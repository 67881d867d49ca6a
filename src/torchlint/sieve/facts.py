"""What one look at a file tells about it: its imports, functions and classes, and where each of them stands.

Built by `reader` from the C parser's tree; small, and enough to decide which stretches of the file libcst must parse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

INSIDE = ("words", "sets", "binds", "calls", "gives")  # what is known of a unit without its tree
KINDS = (*INSIDE, "tree")


class Seen:
    """What of a file was looked at: by kind, the units of which it was that; the file's words, its lines as they stand, the rows
    that things stand in."""

    __slots__ = ("lines", "rows", "units", "words")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Nothing was looked at yet."""
        self.lines = self.rows = self.words = False
        self.units: dict[str, set[Unit]] = {kind: set() for kind in KINDS}


def _noted(kind: str) -> Any:
    """What is known of a unit, where it is noted that somebody looks at it."""
    own = attrgetter(f"own_{kind}")

    def get(unit: Unit) -> Any:
        if unit.seen is not None:
            unit.seen.units[kind].add(unit)
        return own(unit)

    def put(unit: Unit, value: Any) -> None:
        setattr(unit, f"own_{kind}", value)

    return property(get, put)


@dataclass(slots=True, eq=False)
class Unit:
    """A stretch of a file that is parsed on its own: a function, or a run of statements outside any function.

    Rows count from 1 and include decorators; `indent` tells that the text stands inside a block. What is called `own_words` here
    is asked for as `words`: then it is noted in `seen`.
    """

    name: str
    start: int
    end: int
    indent: bool = False
    params: tuple[str, ...] = ()
    own_words: frozenset[str] = frozenset()  # names that the text calls, reads as attributes or imports
    own_sets: frozenset[str] = frozenset()  # x of every `self.x = ...`
    own_binds: frozenset[str] = frozenset()  # names that the text assigns
    own_calls: frozenset[str] = frozenset()  # names that the text calls with something; "" for what has no name
    own_gives: dict[str, frozenset[str]] = field(default_factory=dict)  # of x and self.x: words of what is assigned to them
    is_async: bool = False
    decorators: tuple[str, ...] = ()
    nodes: list | None = None  # its statements in Python's own tree, as long as these are kept
    light: object = None  # the scout's tree; False where it has none of its own
    parsed: object = None  # the libcst tree while the file is judged; False where libcst could not parse it
    seen: Seen | None = None  # that of its file

    words, sets, binds, calls, gives = map(_noted, INSIDE)


@dataclass(slots=True, eq=False)
class ClassFacts:
    """A class: its bases as written, its methods, and the statements between them."""

    name: str
    start: int
    end: int
    row: int
    bases: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    methods: dict[str, Unit] = field(default_factory=dict)
    body: list[Unit] = field(default_factory=list)  # statements that are no methods, in order
    classes: dict[str, ClassFacts] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class FileFacts:
    """A file. `body` holds every top-level statement in order: a Unit to run, or the name of a function or class, of which
    `functions` and `classes` hold the last definition."""

    path: str
    own_lines: list[str]
    body: list[Unit | str] = field(default_factory=list)
    functions: dict[str, Unit] = field(default_factory=dict)
    classes: dict[str, ClassFacts] = field(default_factory=dict)
    again: dict[str, list[Unit | ClassFacts]] = field(default_factory=dict)  # all definitions of what is defined more than once
    imports: dict[str, str] = field(default_factory=dict)  # local name -> qualified name, relative ones with leading dots
    instead: dict[str, list[str]] = field(default_factory=dict)  # what else a name is imported from, under other conditions
    stars: list[str] = field(default_factory=list)
    added: tuple[str, ...] = ()  # folders that it puts on the import path: see files/search_path.py
    own_words: frozenset[str] = frozenset()
    digest: str = ""
    reach: dict[str, frozenset[str]] = field(default_factory=dict)  # by function: the words in it and in what it mentions
    given: dict[str, frozenset[str]] | None = None  # by name: what its value is made of, once somebody asked
    seen: Seen = field(default_factory=Seen)
    digests: dict[Any, bytes] = field(default_factory=dict)  # of what `glimpse.py` was asked for
    answers: dict[Hashable, Any] = field(default_factory=dict)  # what rules have found in the lines, by question

    @property
    def lines(self) -> list[str]:
        """The file's lines, of which any may be looked at."""
        self.seen.lines = True
        return self.own_lines

    def once(self, question: Hashable, find: Callable[[], Any]) -> Any:
        """What a rule finds in the file's lines, found once: each run that comes by asks again. The question holds all that the answer
        depends on, but for the lines."""
        self.seen.lines = True
        if question not in self.answers:
            self.answers[question] = find()
        return self.answers[question]

    @property
    def words(self) -> frozenset[str]:
        """All its words."""
        self.seen.words = True
        return self.own_words

    def all_classes(self):
        """Every class of the file, nested ones too."""
        todo = list(self.classes.values())
        while todo:
            found = todo.pop()
            yield found
            todo.extend(found.classes.values())


def units_of(facts: FileFacts) -> Iterator[Unit]:
    """Every unit of a file."""
    yield from (item for item in facts.body if isinstance(item, Unit))
    yield from facts.functions.values()
    for cls in facts.all_classes():
        yield from class_units(cls)


def all_units(facts: FileFacts) -> list[Unit]:
    """The same with those whose name is given to another definition later on."""
    found = list(units_of(facts))
    for definition in (item for items in facts.again.values() for item in items):
        todo = [definition]
        while todo:
            item = todo.pop()
            found += [item] if isinstance(item, Unit) else class_units(item)
            todo += () if isinstance(item, Unit) else item.classes.values()
    return list(dict.fromkeys(found))


def class_units(cls: ClassFacts) -> Iterator[Unit]:
    """Every unit directly in a class."""
    yield from cls.methods.values()
    yield from cls.body
