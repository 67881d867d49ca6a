"""One dry run: all that it keeps, its events, and the body of a file. What it does stands in the files beside this one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import libcst as cst

from torchlint.dryrun.calls import Calls
from torchlint.dryrun.conditions import Conditions
from torchlint.dryrun.expressions import Expressions
from torchlint.dryrun.flow import Graph
from torchlint.dryrun.frame import Context, Frame
from torchlint.dryrun.guards import Asked, Guard
from torchlint.dryrun.large_calls import SeenCalls
from torchlint.dryrun.parts import STEPS_AT_FIRST, STEPS_OF_EVENT, STEPS_OF_LINE, Budget
from torchlint.dryrun.paths import Jumps, Paths
from torchlint.dryrun.plain import Plain
from torchlint.dryrun.short_loops import ShortLoops
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.statements import Statements
from torchlint.dryrun.store import Store
from torchlint.dryrun.summaries import Summary
from torchlint.dryrun.turns import Turns
from torchlint.dryrun.values import Class, Event, Func, Instance, Loop, Value
from torchlint.dryrun.world import World
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit

MOST_STEPS = 200_000  # expressions evaluated for one root: a bound on time, above what nearly all real code needs
MOST_DEPTH = 12


class TooMuch(Exception):
    """The bound on work for one root was passed. What was seen so far is dropped: half a story supports no finding."""


class Run(Statements, Paths, Conditions, Expressions, ShortLoops, Turns, Calls):
    """One dry run: from a root (the body of a file, or a function that nothing seen calls) through all it calls."""

    most_steps, most_depth = MOST_STEPS, MOST_DEPTH
    met: Callable[[set[str]], bool] = staticmethod(lambda words: True)  # whether some rule has anything to say of some words
    alone = False  # a part of what was too much: what it calls, or what it is called on, is not known
    orphan = False  # a root only because a run that would have come to it was too much: what it is given there is not known
    spared = False  # a call was not run again: what it would have given is not known
    too_deep = False  # given up because it is nested too deeply, and not because it is too much
    Frame, Context, TooMuch = Frame, Context, TooMuch

    def __init__(self, world: World, store: Store | None = None):
        self.world = world
        self.graph = Graph(world.events)
        self.base_store = store or Store()
        self.store = self.base_store
        self.loops: tuple[Loop, ...] = ()
        self.contexts: list[Context] = []
        self.guards: tuple[Guard, ...] = ()
        self.choice: tuple[Guard, ...] = ()  # under which the value in hand is that one of several
        self.among: tuple[Value, ...] = ()  # the several that the value in hand is one of
        self.asked: dict[int, Asked] = {}  # by id of a condition's node
        self.call_sites: tuple[Site, ...] = ()
        self.stack: list = []
        self.jumps: list[Jumps] = []
        self.frame: Frame | None = None
        self.parsed: Parsed | None = None
        self.steps = 0
        self.emitted = 0  # events, those that were taken back, too
        self.allowed = min(self.most_steps, STEPS_AT_FIRST)
        self.reached: set[int] = set()  # ids of units that were run, functions and statements of files' bodies
        self.lines = 0  # of these
        self.registered: set[int] = set()  # ids of modules and tensors that some module owns by now
        self.escaped: set[int] = set()  # ids of values handed to code that cannot be seen
        self.entered: set[int] = set()  # ids of functions that were run, by their unit
        self.ran: set[int] = set()  # ids of statements outside functions that were run, by their unit
        self.classes: dict[int, Class] = {}
        self.keep: list = []  # what is known by id must stay alive
        self.children: dict[int, list[Value]] = {}  # by id of a module: the modules in it, and what may be one
        self.unsure_children: set[tuple[int, int]] = set()  # ids of a module and of what is in it on some paths, or no longer
        self.buffers: set[tuple[int, str]] = set()  # ids of modules and the names of their buffers
        self.holds: dict[int, tuple] = {}  # by id of an optimizer: the modules and tensors it updates
        self.assigned: tuple | None = None  # the expression whose value is assigned, and where to
        self.last_call: tuple | None = None
        self.last_operands: tuple | None = None  # of the binary operation evaluated last: its node, left, right
        self.pending_grad: tuple | None = None
        self.graph_key = object()  # owner of what the whole run shares in the store
        self.watched_calls: frozenset[str] = frozenset()
        self.watched_own: frozenset[str] = frozenset()  # of those, what may be a function or class of the project
        self.moved: dict[int, tuple[Any, Site]] = {}  # by id of something unknown that was moved: its device, and where that was said
        self.made_in: dict[int, tuple] = {}  # by id of a list or an object: the loops it was made in
        self.root: Func | None = None
        self.title = ("the body of the file", 1)  # what the root is called, and its row
        self.judged = 0  # how many of the events that it begins with were judged with another run of the same class
        self.unread: list[Unit] = []  # what libcst could not read of the body
        self.summaries: dict[object, list[Summary]] = {}  # by function
        self.kept_open = 0  # calls that are being run of which a summary may be made
        self.called_before: set[object] = set()  # functions
        self.plain = Plain()
        self.missed: dict[object, int] = {}  # by function: how often none of these was what was asked for
        self.cuts: list[int] = []  # for each call that was not followed: how deep the one stands that it would run again
        self.outer: list[int] = []  # when the frames were made that functions were run in which stand in functions
        self.units: list[Unit] = []  # of the functions that were run, one after the other
        self.seen = SeenCalls()
        self.budget = Budget()
        self.switches: dict[int, dict[str, Value]] = {}  # by id of a parser: the switches that have one value whatever is typed
        self.filled_in: dict[tuple[int, str], Value] = {}  # by id of an object and name: its attributes that were made where they were None
        self.took: dict[int, int] = {}  # by id of a function's unit: its steps so far when a run that was in it was too much
        self.replaced = 0  # how often a module's part gave way to another
        self.unrolled = 0  # how many loops are open whose turns are run one after the other
        self.chained = 0  # how many Sequentials are being gone through
        self.trial = False  # whether a loop's body is run for what it leaves at the loop's head: once more comes
        self.cut_short = 0  # how many loops in such a body were run once that would be run twice otherwise
        self.forwards: list[tuple[Instance, str]] = []  # modules, and the keys under which it is known what their forward gives
        self.fed: dict[tuple[int, str], tuple[frozenset, frozenset] | None] = {}  # what was behind the inputs of these; None where it counts
        self.stepping: Value | None = None  # the scaler that calls the step of an object of the project
        self.unsure = 0  # how many calls are open whose receiver may be one of several values

    # -- events ---------------------------------------------------------------------------------------------------

    def site(self, node: cst.CSTNode) -> Site:
        return Site(self.parsed, node)

    def emit(self, kind: str, subject: Value | None, node: cst.CSTNode | None, **data) -> Event:
        """Adds an event at this point of the run."""
        data["contexts"] = tuple(self.contexts)
        data["grad_on"] = self.grad_state()[0]
        data["guards"] = self.guards
        if self.choice:
            data["choice"] = self.choice
        if kind == "backward":
            self.plain.trains(data["flows"])
        event = Event(kind, subject, Site(self.parsed, node) if node is not None else None, self.loops, self.call_sites, data)
        graph = self.graph
        if not graph.tails:  # nothing can come here
            return event
        self.emitted += 1
        if self.emitted * STEPS_OF_EVENT > self.allowed:
            raise TooMuch
        return graph.add(event)

    def reach(self, unit: Unit) -> None:
        """Lets the run take more steps where it comes to a function, or to a statement of a file's body, for the first time."""
        if id(unit) not in self.reached:
            self.reached.add(id(unit))
            self.lines += unit.end - unit.start + 1
            self.allowed = min(self.most_steps, STEPS_AT_FIRST + STEPS_OF_LINE * self.lines)

    # -- the body of a file ---------------------------------------------------------------------------------------

    def run_file(self, facts: FileFacts, matters: Callable[[Unit], bool] = lambda unit: True) -> None:
        """Runs the body of a file: those statements that matter, and those that set what these mention; the others when
        something asks for what they set."""
        self.frame = Frame(facts)
        self.frame.base = self.store
        wanted: list[Unit | str] = []
        mentioned: set[str] = set()
        for item in reversed(facts.body):
            if isinstance(item, str):
                wanted[:0] = [item] if item in facts.again or item in facts.imports else []
            elif item.binds & mentioned or matters(item):
                wanted.insert(0, item)
                _mention(item.words, facts, mentioned)
        self.ran.update(map(id, wanted))
        definitions = {name: iter(found) for name, found in facts.again.items()}
        for item in wanted:
            if isinstance(item, str):
                definition = next(definitions[item]) if item in definitions else facts.functions.get(item) or facts.classes[item]
                self.store.set(facts, item, self.defined(item, facts, definition))
                continue
            parsed = self.world.parse(facts, item)
            if parsed is None:
                self.unread.append(item)
                continue
            self.parsed = parsed
            self.reach(item)
            self.run_block(parsed.body)
            if self.graph.dead:
                break
        self.frame.base = self.frame = None

    def defined(self, name: str, facts: FileFacts, definition: Unit | ClassFacts) -> Value:
        """The function or class that a definition makes."""
        return Func(name, facts, definition) if isinstance(definition, Unit) else self.class_of(facts, definition)

    # -- what is run on the side ----------------------------------------------------------------------------------

    @contextmanager
    def silent(self):
        """Runs something for the values it leaves; its events are no part of this run."""
        names = ("entered", "graph", "store", "loops", "contexts", "guards", "choice", "among", "call_sites", "jumps", "frame", "parsed", "trial")
        saved = {name: getattr(self, name) for name in names}
        self.graph, self.store, self.entered = type(self.graph)(self.world.events), self.base_store, set(self.entered)
        self.loops, self.contexts, self.guards, self.call_sites, self.jumps = (), [], (), (), []
        self.choice, self.among, self.trial = (), (), False
        try:
            yield
        finally:
            if self.frame is not None and self.frame is not saved["frame"]:
                self.frame.base = None  # the store holds the frame: a circle
            for name, value in saved.items():
                setattr(self, name, value)


def _mention(words: frozenset[str], facts: FileFacts, mentioned: set[str]) -> None:
    """Adds what a stretch of a file mentions, itself or through the file's functions."""
    todo = [words]
    while todo:
        new = todo.pop() - mentioned
        mentioned |= new
        todo.extend(facts.functions[name].words for name in new if name in facts.functions)
