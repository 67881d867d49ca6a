"""Where dry runs of a file start: its body, then every function and method that no run so far has come to, as far as some
rule may have anything to say there."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from torchlint.dryrun.interpreter import Run, TooMuch
from torchlint.dryrun.parts import SHARE_ALONE, STEPS_OF_EVENT, TOO_DEEP, Budget, Orphans, Shortened, why_unread
from torchlint.dryrun.relevance import Relevance
from torchlint.dryrun.store import Store
from torchlint.dryrun.torch_api.frameworks import inherited_hooks
from torchlint.dryrun.values import Func, Instance
from torchlint.dryrun.world import World
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit, units_of

SHARED = ("classes", "watched_calls", "watched_own", "budget", "took", "met", "seen")
GROWING = ("children", "unsure_children", "holds", "registered", "escaped", "keep", "made_in", "entered", "replaced",
           "buffers")


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
        self.watched_own = frozenset(name[1:] for name in watched if name[0] == "@")
        self.called = _called_names(facts)
        self.waiting: set[int] = set()
        self.orphans = Orphans(facts, relevance.named)
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
            except (TooMuch, RecursionError) as error:
                if isinstance(error, RecursionError):
                    self.shortened.why[body.title[0]] = TOO_DEEP
                self.orphans.lose(*(item for item in self.facts.body if isinstance(item, Unit)))
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
        run.watched_calls, run.watched_own, run.budget, run.took = self.watched, self.watched_own, Budget(), self.took
        run.met = self.relevance.met
        return run

    def _note_unread(self, body: Run) -> None:
        for unit in body.unread:
            if self.relevance.statements(unit):
                self.shortened.lost[f"line {unit.start}"] = unit.start
                self.shortened.why[f"line {unit.start}"] = why_unread(self.facts, unit)

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
            run.judged = len(start_events) if any(not other.alone for other in runs) else 0

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
        self.waiting.discard(id(root.func.unit))
        before.budget.to_come = len(self.waiting)
        shared = {name: getattr(before, name) for name in GROWING} if grow else {}
        learnt = {name: type(value)(value) for name, value in shared.items() if isinstance(value, (set, dict))}
        run = _follow(before, Store(before.store), grow)
        run.alone = alone or before.alone
        run.orphan = root.func.unit in self.orphans
        finished = _finish(run, lambda: work(run), root.func, self.facts)
        run.seen.settle(run.graph.events, finished)
        if run.too_deep:
            self.shortened.why[root.name] = TOO_DEEP
        if finished:
            self.waiting -= run.entered
        else:
            _unlearn(before, learnt)
            if root.func.unit is not None:
                self.orphans.lose(root.func.unit)
            run = _follow(before, Store(before.store))
            run.alone, run.most_depth, run.most_steps = True, 1, run.most_steps // SHARE_ALONE
            finished = _finish(run, lambda: work(run), root.func, self.facts)
        run.title = root.name, root.row
        if root.unread:
            self.shortened.why[root.name] = why_unread(root.func.facts, root.func.unit)
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
    except (TooMuch, RecursionError) as error:
        run.too_deep = isinstance(error, RecursionError)
        return False
    finally:
        frame.base = None
        run.budget.spend(max(run.steps, run.emitted * STEPS_OF_EVENT))
    return True


def _called_names(facts: FileFacts) -> set[str]:
    """Names that some other function or the body of the file mentions: those are better run from there."""
    names: set[str] = set()
    for unit in units_of(facts):
        names |= unit.words - {unit.name}
    return names
