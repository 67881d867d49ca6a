"""Where dry runs of a file start: its body, then every function and method that no run so far has come to."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.facts import FileFacts, Unit
from torchlint.dryrun.interpreter import Run, TooMuch
from torchlint.dryrun.store import Store
from torchlint.dryrun.values import Func, Instance
from torchlint.dryrun.world import World


def runs_of(world: World, facts: FileFacts, watched: frozenset[str]) -> Iterator[Run]:
    """The runs of one file, each finished. A run that grew past its bounds is left out."""
    body = Run(world)
    body.watched_calls = watched
    try:
        body.run_file(facts)
        yield body
    except (TooMuch, RecursionError):
        body = Run(world)
        body.watched_calls = watched
    entered = body.entered
    called = _called_names(facts)
    functions = sorted(facts.functions.values(), key=lambda unit: unit.name in called)
    for unit in functions:
        if id(unit) not in entered:
            run = _follow(body)
            func = Func(unit.name, facts, unit)
            if _finish(run, lambda run=run, func=func: run.run_root_function(func), func, facts):
                yield run
    for cf in facts.all_classes():
        yield from _class_runs(body, facts, cf, called)


def _class_runs(body: Run, facts: FileFacts, cf, called: set[str]) -> Iterator[Run]:
    """The runs of one class: its __init__ on an instance of which nothing is known, then each method on that."""
    first = _follow(body)
    made: list[Instance] = []

    def build() -> None:
        cls = first.class_of(facts, cf)
        instance = Instance(cls, first.kind_of_class(cls), None, [], {})
        made.append(instance)
        found = cls.method("__init__")
        if found is not None:
            home, unit = found
            first.run_root_function(Func("__init__", home.facts, unit, home), instance)

    root = Func("__init__", facts, cf.methods.get("__init__"), None)
    if not _finish(first, build, root, facts) or not made:
        return
    instance = made[0]
    cls = instance.cls
    root.home = cls
    start_tails = list(first.graph.tails)
    start_events = list(first.graph.events)
    runs = []
    if "__init__" in cf.methods:
        runs.append(first)
    is_module = instance.kind == "module"
    names = sorted(cf.methods, key=lambda name: (name != "forward", name in called))
    for name in names:
        unit = cf.methods[name]
        if name == "__init__" or id(unit) in body.entered and not (is_module and name == "forward"):
            continue
        run = _follow(body, Store(first.store))
        run.graph.start = first.graph.start
        run.graph.events = list(start_events)
        run.graph.tails = list(start_tails or [first.graph.start])
        func = Func(name, facts, unit, cls)
        if _finish(run, lambda run=run, func=func: run.run_root_function(func, instance), func, facts):
            runs.append(run)
    yield from runs


def _follow(body: Run, store: Store | None = None) -> Run:
    """A run that starts with what the body of the file has left behind."""
    run = Run(body.world, store or Store(body.store))
    for name in ("classes", "children", "unsure_children", "holds", "registered", "escaped", "keep", "entered", "made_in", "watched_calls"):
        setattr(run, name, getattr(body, name))
    return run


def _finish(run: Run, work, func: Func, facts: FileFacts) -> bool:
    run.root = func
    run.frame = run.Frame(facts)
    run.frame.base = run.store
    try:
        work()
    except (TooMuch, RecursionError):
        return False
    return True


def _called_names(facts: FileFacts) -> set[str]:
    """Names that some other function or the body of the file mentions: those are better run from there."""
    names: set[str] = set()
    units = [item for item in facts.body if isinstance(item, Unit)] + list(facts.functions.values())
    for cls in facts.all_classes():
        units += [*cls.methods.values(), *cls.body]
    for unit in units:
        names |= unit.words - {unit.name}
    return names


