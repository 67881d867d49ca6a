"""Where dry runs of a file start: its body, then every function and method that no run so far has come to, as far as some
rule may have anything to say there."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from torchlint.catalogue.effects import KEEP_RESULT
from torchlint.dryrun.interpreter import Run, TooMuch
from torchlint.dryrun.parts import SHARE_ALONE, Budget, Shortened
from torchlint.dryrun.store import Store
from torchlint.dryrun.torch_api.frameworks import IMPLIED, inherited_hooks
from torchlint.dryrun.values import Func, Instance
from torchlint.dryrun.world import World
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit, units_of

SHARED = ("classes", "watched_calls", "budget", "took")
GROWING = ("children", "unsure_children", "holds", "registered", "escaped", "keep", "made_in", "entered", "replaced",
           "buffers")

# What of __init__ matters to what other methods do.
PASSED_ON = frozenset(
    {"!sized", "!container", "!leaf", "!kept", "!kept?", "!repeat", "!sequence", "!setattr", "DistributedSampler", "parameters"}
)
# Marks of statements that a rule shows: a run of the file that they stand in comes to them, too.
_OF_ITS_FILE = frozenset({"!state", "!best", "!loading", "!loose"})


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
        self.given = _given(facts)
        self._inherit(facts, 3)
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
        """The words of some units and of the functions of the project that they mention."""
        found: set[str] = set()
        seen: set[int] = set()
        todo = list(units)
        while todo:
            unit = todo.pop()
            if id(unit) in seen:
                continue
            seen.add(id(unit))
            found |= unit.words
            for name in unit.words:
                if name in self.given:
                    found |= self.given[name]
                if name in self.named:
                    todo.extend(self.named[name])
                elif name in self.facts.imports:
                    found.add(self.facts.imports[name].partition(".")[0] or ".")
                    found |= self.imported(name)
                    inner = self.module(name)
                    if inner is not None:
                        for other in unit.words & inner.functions.keys():
                            found |= _reach(inner, other)
        for name in IMPLIED.keys() & found:
            found |= IMPLIED[name]
        return found

    def imported(self, name: str) -> frozenset[str]:
        """The words of a function or class that is imported from another file of the project."""
        if name not in self._imported:
            self._imported[name] = frozenset()
            base, _, last = self.facts.imports[name].rpartition(".")
            path = self.world.resolve(base, self.facts.path) if base.strip(".") or base else None
            inner = self.world.facts(path) if path is not None else None
            if inner is not None and last in inner.functions:
                self._imported[name] = _reach(inner, last)
            elif inner is not None and last not in inner.classes:
                self._imported[name] = _given(inner).get(last, frozenset())
            elif inner is not None:
                methods = inner.classes[last].methods.items()
                self._imported[name] = frozenset().union(*(u.words for key, u in methods if key not in ("__init__", "forward"))) - _OF_ITS_FILE
        return self._imported[name]

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

    def kind(self, unit: Unit) -> frozenset[str] | None:
        """What of the project a function mentions, where only that can matter and not what it does itself: such functions
        differ in what they pass, as the 50 that build one model in 50 sizes. None for all others."""
        if self.all or self.met(set(unit.words)):
            return None
        known = (self.facts.functions, self.facts.classes, self.facts.imports, self.named)
        return frozenset(word for word in unit.words if any(word in names for names in known))

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
            words |= IMPLIED.get(name, frozenset())
            if self.met(words):
                found.append(unit)
        return found


def _reach(facts: FileFacts, name: str) -> frozenset[str]:
    """The words of a function and of the functions and names of its own file that it mentions."""
    if name not in facts.reach:
        given = _given(facts)
        words: set[str] = set()
        seen: set[str] = set()
        todo = {name}
        while todo:
            one = todo.pop()
            seen.add(one)
            unit = facts.functions.get(one)
            new = given.get(one, frozenset()) | (unit.words if unit is not None else frozenset())
            words |= new
            todo |= {word for word in new if (word in facts.functions or word in given) and word not in seen}
        facts.reach[name] = frozenset(words - _OF_ITS_FILE)
    return facts.reach[name]


def _given(facts: FileFacts) -> dict[str, frozenset[str]]:
    """By attribute or global name: the classes and functions its value is made of, wherever in the file that is set."""
    found: dict[str, frozenset[str]] = {}
    for unit in units_of(facts):
        for name, words in unit.gives.items():
            found[name] = found.get(name, frozenset()) | words
            kept = words & KEEP_RESULT
            if kept:  # what is written onto what it gave is written onto what they gave
                found[f"!onto {name}"] = found.get(f"!onto {name}", frozenset()) | {f"!onto {word}" for word in kept}
    return found


def runs_of(
    world: World,
    facts: FileFacts,
    watched: frozenset[str],
    met: Callable[[set[str]], bool] | None = None,
    shortened: Shortened | None = None,
) -> Iterator[Run]:
    """The runs of one file, each finished. A run that grew past its bounds is left out: its root is run alone instead, and
    what it calls are roots of their own.

    Args:
        watched: qualified names whose calls become events.
        met: tells of a set of words whether some rule has anything to say of it; None lets everything through.
        shortened: takes in what could not be run whole.
    """
    yield from _Roots(world, facts, watched, Relevance(world, facts, met), shortened or Shortened()).runs()


class _Roots:
    """The roots of one file, run one after the other. `waiting` has the ids of the units that may become roots yet."""

    def __init__(self, world: World, facts: FileFacts, watched: frozenset[str], relevance: Relevance, shortened: Shortened):
        self.world, self.facts, self.watched, self.relevance, self.shortened = world, facts, watched, relevance, shortened
        self.called = _called_names(facts)
        self.waiting: set[int] = set()
        self.took: dict[int, int] = {}

    def runs(self) -> Iterator[Run]:
        """All runs: of the body, of functions, of classes."""
        body = yield from self._body()
        functions = [unit for unit in self.facts.functions.values() if id(unit) not in body.entered and self.relevance.unit(unit)]
        functions.sort(key=lambda unit: unit.name in self.called)
        classes = [(cf, wanted) for cf in self.facts.all_classes() if (wanted := self.relevance.cls(cf))]
        units = (*functions, *(unit for _, wanted in classes for unit in wanted))
        self.waiting.update(id(unit) for unit in units if id(unit) not in body.entered)
        alike: set[frozenset[str] | None] = set()
        for unit in functions:
            kind = self.relevance.kind(unit)
            if id(unit) in body.entered or kind is not None and kind in alike:
                self.waiting.discard(id(unit))
                continue
            func = Func(unit.name, self.facts, unit)
            run = self._judged(_Root(func), body, lambda run, func=func: run.run_root_function(func))
            if run is not None:
                alike.add(kind)
                yield run
                if not run.alone:
                    body.entered |= run.entered
        for cf, wanted in classes:
            yield from self._class(body, cf, wanted)

    def _body(self) -> Generator[Run, None, Run]:
        """Yields the run of the file's body; gives what the other runs begin with."""
        for alone in (False, True):
            body = self._new()
            body.alone = alone
            if alone:
                body.most_depth, body.most_steps = 0, body.most_steps // SHARE_ALONE
            try:
                body.run_file(self.facts, self.relevance.statements)
            except (TooMuch, RecursionError):
                continue
            finally:
                self._note_unread(body)
            if alone:
                self.shortened.alone.update([body.title])
            yield body
            return self._new() if alone else body
        self.shortened.lost.update([body.title])
        return self._new()

    def _new(self) -> Run:
        run = Run(self.world)
        run.watched_calls, run.budget, run.took = self.watched, Budget(), self.took
        return run

    def _note_unread(self, body: Run) -> None:
        for unit in body.unread:
            if self.relevance.statements(unit):
                self.shortened.lost[f"line {unit.start}"] = unit.start

    def _class(self, body: Run, cf: ClassFacts, wanted: list[Unit]) -> Iterator[Run]:
        """The runs of one class: its __init__ on an instance of which nothing is known, then each method on that."""
        init = Func("__init__", self.facts, cf.methods.get("__init__"), None)
        made: list[Instance] = []

        def build(run: Run) -> None:
            cls = run.class_of(self.facts, cf)
            instance = Instance(cls, run.kind_of_class(cls), None, [], {})
            made[:] = [instance]
            found = cls.method("__init__")
            if found is not None:
                home, unit = found
                run.run_root_function(Func("__init__", home.facts, unit, home), instance)

        first = self._judged(_Root(init, cf), body, build)
        if first is None:
            yield from self._methods_alone(body, cf, wanted)
            return
        instance = made[0]
        cls = init.home = instance.cls
        instance.complete = instance.complete and not first.alone
        start_tails = list(first.graph.tails)
        start_events = list(first.graph.events)
        runs = [first] if "__init__" in cf.methods else []
        is_module = instance.kind == "module"
        names = sorted((unit.name for unit in wanted), key=lambda name: (name != "forward", name in self.called))

        def start(run: Run) -> None:
            run.graph.start = first.graph.start
            run.graph.events = list(start_events)
            run.graph.tails = list(start_tails or [first.graph.start])

        for name in [*names, *inherited_hooks(cls)]:
            home, unit = cls.method(name)
            if name == "__init__" or id(unit) in first.entered and not (is_module and name == "forward"):
                self.waiting.discard(id(unit))
                continue
            func = Func(name, home.facts, unit, home)

            def work(run: Run, func: Func = func) -> None:
                start(run)
                run.run_method(func, instance)

            run = self._judged(_Root(func, cf), first, work, grow=True)
            if run is not None:
                runs.append(run)
        if not first.alone:
            body.entered |= first.entered
        yield from runs

    def _methods_alone(self, body: Run, cf: ClassFacts, wanted: list[Unit]) -> Iterator[Run]:
        """The methods of a class of whose objects nothing is known: not even its __init__ could be run."""
        for unit in wanted:
            if unit.name != "__init__" and id(unit) not in body.entered:
                func = Func(unit.name, self.facts, unit)
                run = self._judged(_Root(func, cf), body, lambda run, func=func: run.run_root_function(func), alone=True)
                if run is not None:
                    yield run

    def _judged(
        self, root: _Root, before: Run, work: Callable[[Run], object], grow: bool = False, alone: bool = False
    ) -> Run | None:
        """A finished run of a root: where that is too much, one of the root alone, in which calls are not followed; else None."""
        before.budget.to_come = len(self.waiting - {id(root.func.unit)})
        self.waiting.discard(id(root.func.unit))
        shared = {name: getattr(before, name) for name in GROWING} if grow else {}
        learnt = {name: type(value)(value) for name, value in shared.items() if isinstance(value, (set, dict))}
        run = _follow(before, Store(before.store), grow)
        run.alone = alone or before.alone
        finished = _finish(run, lambda: work(run), root.func, self.facts)
        if finished:
            self.waiting -= run.entered
        else:
            _unlearn(before, learnt)
            run = _follow(before, Store(before.store))
            run.alone, run.most_depth, run.most_steps = True, 1, run.most_steps // SHARE_ALONE
            finished = _finish(run, lambda: work(run), root.func, self.facts)
        run.title = root.name, root.row
        if not finished or root.unread:
            self.shortened.lost.update([run.title])
        elif run.alone and not alone:
            self.shortened.alone.update([run.title])
        return run if finished else None


class _Root(NamedTuple):
    """A function that a run begins with, and the class that it is run for."""

    func: Func
    cf: ClassFacts | None = None

    @property
    def name(self) -> str:
        return f"{self.cf.name}.{self.func.name}()" if self.cf is not None else f"{self.func.name}()"

    @property
    def row(self) -> int:
        """The row of its `def`; of an inherited one, that of the class that it is run for."""
        unit = self.func.unit
        if unit is None or self.cf is not None and unit not in self.cf.methods.values():
            return self.cf.row if self.cf is not None else 1
        rows = range(unit.start, unit.end + 1)
        lines = self.func.facts.lines
        return next((row for row in rows if _DEF.match(lines[row - 1])), unit.start)

    @property
    def unread(self) -> bool:
        """Whether libcst could not read it."""
        return self.func.unit is not None and self.func.unit.parsed is False


_DEF = re.compile(r"\s*(?:async\s+)?def\b")


def _follow(body: Run, store: Store | None = None, grow: bool = False) -> Run:
    """A run that starts with what another has left behind. With `grow`, what it learns is learnt by both: the methods of one
    class are about one object."""
    run = Run(body.world, store or Store(body.store))
    for name in SHARED:
        setattr(run, name, getattr(body, name))
    for name in GROWING:
        mine = getattr(body, name)
        setattr(run, name, mine if grow else type(mine)(mine))
    run.ran = set(body.ran)  # what a run leaves stands in its own store: another must run the same again
    return run


def _unlearn(run: Run, learnt: dict[str, set | dict]) -> None:
    """Takes back what was learnt since from a run that came to no end: above all, which functions it had entered."""
    for name, before in learnt.items():
        known = getattr(run, name)
        known.clear()
        known.update(before)


def _finish(run: Run, work, func: Func, facts: FileFacts) -> bool:
    run.root = func
    run.most_steps = min(run.most_steps, run.budget.share())
    if not run.alone and run.is_hopeless(func.unit):
        return False
    frame = run.frame = run.Frame(facts)
    frame.base = run.store
    if run.budget.left <= 0:
        return False
    try:
        work()
    except (TooMuch, RecursionError):
        return False
    finally:
        frame.base = None
        run.budget.spend(run.steps)
    return True


def _called_names(facts: FileFacts) -> set[str]:
    """Names that some other function or the body of the file mentions: those are better run from there."""
    names: set[str] = set()
    for unit in units_of(facts):
        names |= unit.words - {unit.name}
    return names
