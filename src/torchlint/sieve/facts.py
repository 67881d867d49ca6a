"""What one look at a file tells about it: its imports, functions and classes, and where each of them stands.

Built by `reader` from the C parser's tree; small, and enough to decide which stretches of the file libcst must parse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Unit:
    """A stretch of a file that is parsed on its own: a function, or a run of statements outside any function.

    Rows count from 1 and include decorators; `indent` tells that the text stands inside a block.
    """

    name: str
    start: int
    end: int
    indent: bool = False
    params: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()  # names that the text calls, reads as attributes or imports
    sets: frozenset[str] = frozenset()  # x of every `self.x = ...`
    binds: frozenset[str] = frozenset()  # names that the text assigns
    calls: frozenset[str] = frozenset()  # names that the text calls with something; "" for what has no name
    gives: dict[str, frozenset[str]] = field(default_factory=dict)  # of x and self.x: words of what is assigned to them
    is_async: bool = False
    decorators: tuple[str, ...] = ()
    nodes: list | None = None  # its statements in Python's own tree, as long as these are kept
    light: object = None  # the scout's tree; False where it has none of its own
    parsed: object = None  # the libcst tree while the file is judged; False where libcst could not parse it


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
    lines: list[str]
    body: list[Unit | str] = field(default_factory=list)
    functions: dict[str, Unit] = field(default_factory=dict)
    classes: dict[str, ClassFacts] = field(default_factory=dict)
    again: dict[str, list[Unit | ClassFacts]] = field(default_factory=dict)  # all definitions of what is defined more than once
    imports: dict[str, str] = field(default_factory=dict)  # local name -> qualified name, relative ones with leading dots
    instead: dict[str, list[str]] = field(default_factory=dict)  # what else a name is imported from, under other conditions
    stars: list[str] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    digest: str = ""
    reach: dict[str, frozenset[str]] = field(default_factory=dict)  # by function: the words in it and in what it mentions
    given: dict[str, frozenset[str]] | None = None  # by name: what its value is made of, once somebody asked

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


def class_units(cls: ClassFacts) -> Iterator[Unit]:
    """Every unit directly in a class."""
    yield from cls.methods.values()
    yield from cls.body
