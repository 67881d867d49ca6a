"""Walks a body as a run would: statements, branches, loops. Expressions and calls are in the files beside this one."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import contextmanager

import libcst as cst

from torchlint.dryrun.calls import Calls
from torchlint.dryrun.expressions import Expressions
from torchlint.dryrun.flow import Graph
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.store import Store
from torchlint.dryrun.torch_api.methods import SCHEDULER_NAME
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import (
    NONE,
    Class,
    Const,
    Event,
    Func,
    Instance,
    Loop,
    Opaque,
    Ref,
    Tensor,
    Union,
    Value,
    alternatives,
    boolean,
    real,
    same,
    same_class,
)
from torchlint.dryrun.world import World
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit

MOST_STEPS = 60_000  # expressions evaluated for one root: a bound on time, far above what real code needs
MOST_EVENTS = 20_000
MOST_DEPTH = 12


class TooMuch(Exception):
    """The bound on work for one root was passed. What was seen so far is dropped: half a story supports no finding."""


class Context:
    """A `with` block or decorator that is open: no_grad, autocast, ... `value` is what it sets, None where not known."""

    __slots__ = ("kind", "site", "value")

    def __init__(self, kind: str, site: Site | None, value=None):
        self.kind, self.site, self.value = kind, site, value


class Frame:
    """A function that is being run, or the body of a file."""

    __slots__ = ("base", "captured", "facts", "func", "globals", "home", "nonlocals", "outer", "returns", "self_value", "yields")

    def __init__(self, facts: FileFacts, func: Func | None = None, outer: Frame | None = None):
        self.facts, self.func, self.outer = facts, func, outer
        self.home: Class | None = func.home if func else None
        self.self_value: Value | None = None
        self.base: Store | None = None
        self.returns: list = []
        self.yields: list[Value] = []
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.captured = False


class Jumps:
    """The paths that leave a loop body before its end."""

    __slots__ = ("base", "breaks", "continues")

    def __init__(self, base: Store):
        self.base = base
        self.breaks: list = []
        self.continues: list = []


class Run(Expressions, Calls):
    """One dry run: from a root (the body of a file, or a function that nothing seen calls) through all it calls."""

    most_steps, most_depth = MOST_STEPS, MOST_DEPTH
    Frame, Context, TooMuch = Frame, Context, TooMuch

    def __init__(self, world: World, store: Store | None = None):
        self.world = world
        self.graph = Graph(world.events)
        self.base_store = store or Store()
        self.store = self.base_store
        self.loops: tuple[Loop, ...] = ()
        self.contexts: list[Context] = []
        self.guards: tuple = ()
        self.call_sites: tuple[Site, ...] = ()
        self.stack: list = []
        self.jumps: list[Jumps] = []
        self.frame: Frame | None = None
        self.parsed: Parsed | None = None
        self.steps = 0
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
        self.last_call: tuple | None = None
        self.last_operands: tuple | None = None  # of the binary operation evaluated last: its node, left, right
        self.pending_grad: tuple | None = None
        self.graph_key = object()  # owner of what the whole run shares in the store
        self.watched_calls: frozenset[str] = frozenset()
        self.made_in: dict[int, tuple] = {}  # by id of a list or an object: the loops it was made in
        self.root: Func | None = None
        self.replaced = 0  # how often a module's part gave way to another
        self.chained = 0  # how many Sequentials are being gone through
        self.unsure = 0  # how many calls are open whose receiver may be one of several values

    # -- events ---------------------------------------------------------------------------------------------------

    def site(self, node: cst.CSTNode) -> Site:
        return Site(self.parsed, node)

    def emit(self, kind: str, subject: Value | None, node: cst.CSTNode | None, **data) -> Event:
        """Adds an event at this point of the run."""
        data["contexts"] = tuple(self.contexts)
        data["grad_on"] = self.grad_state()[0]
        data["guards"] = self.guards
        event = Event(kind, subject, Site(self.parsed, node) if node is not None else None, self.loops, self.call_sites, data)
        if self.graph.dead:
            return event
        if len(self.graph.events) > MOST_EVENTS:
            raise TooMuch
        return self.graph.add(event)

    # -- bodies ---------------------------------------------------------------------------------------------------

    def run_file(self, facts: FileFacts, matters: Callable[[Unit], bool] = lambda unit: True) -> None:
        """Runs the body of a file: those statements that matter, and those that set what these mention; the others when
        something asks for what they set."""
        self.frame = Frame(facts)
        self.frame.base = self.store
        wanted: list[Unit | str] = []
        mentioned: set[str] = set()
        for item in reversed(facts.body):
            if isinstance(item, str):
                wanted[:0] = [item] if item in facts.again else []
            elif item.binds & mentioned or matters(item):
                wanted.insert(0, item)
                _mention(item.words, facts, mentioned)
        self.ran.update(map(id, wanted))
        definitions = {name: iter(found) for name, found in facts.again.items()}
        for item in wanted:
            if isinstance(item, str):
                self.store.set(facts, item, self.defined(item, facts, next(definitions[item])))
                continue
            parsed = self.world.parse(facts, item)
            if parsed is None:
                continue
            self.parsed = parsed
            self.run_block(parsed.body)
            if self.graph.dead:
                break
        self.frame.base = self.frame = None

    def defined(self, name: str, facts: FileFacts, definition: Unit | ClassFacts) -> Value:
        """The function or class that a definition makes."""
        return Func(name, facts, definition) if isinstance(definition, Unit) else self.class_of(facts, definition)

    def run_block(self, statements) -> None:
        for statement in statements:
            if self.graph.dead:
                return
            self.run_statement(statement)

    def run_statement(self, node: cst.CSTNode) -> None:
        if type(node) is cst.SimpleStatementLine:
            for small in node.body:
                if self.graph.dead:
                    return
                method = _STATEMENTS.get(type(small))
                if method is not None:
                    method(self, small)
            return
        method = _STATEMENTS.get(type(node))
        if method is not None:
            method(self, node)

    def suite(self, body) -> None:
        """Runs an indented block, or the statements after the colon on one line."""
        if type(body) is cst.SimpleStatementSuite:
            for small in body.body:
                method = _STATEMENTS.get(type(small))
                if method is not None and not self.graph.dead:
                    method(self, small)
        else:
            self.run_block(body.body)

    # -- branches -------------------------------------------------------------------------------------------------

    def branch(self, paths) -> None:
        """Runs each of several paths from here, then goes on with what is known on all of them."""
        base, tails = self.store, self.graph.tails
        ends = []
        for path in paths:
            self.store = Store(base)
            self.graph.tails = list(tails)
            path()
            if not self.graph.dead:
                ends.append((self.store.writes_since(base), self.graph.tails))
        self.store = base
        self.meet(ends)

    def meet(self, ends) -> None:
        """Goes on after paths that end here, each given by its writes and its last events."""
        tails: dict[Event, None] = {}
        for _, last in ends:
            tails.update(dict.fromkeys(last))
        if ends:
            self.store.merge([writes for writes, _ in ends])
        self.graph.tails = list(tails)
        if len(tails) > 6:
            self.graph.add(Event("join", None, None, self.loops, self.call_sites, {}))

    @contextmanager
    def guarded(self, test: cst.CSTNode, holds: bool):
        old = self.guards
        self.guards = (*old, (self.site(test), holds))
        try:
            yield
        finally:
            self.guards = old

    def run_if(self, node: cst.If) -> None:
        known = self.truth(node.test)

        def then():
            with self.guarded(node.test, True):
                self.narrow(node.test, True)
                self.suite(node.body)

        def other():
            with self.guarded(node.test, False):
                self.narrow(node.test, False)
                if type(node.orelse) is cst.If:
                    self.run_if(node.orelse)
                elif node.orelse is not None:
                    self.suite(node.orelse.body)

        if known is True:
            then()
        elif known is False:
            other()
        else:
            self.branch((then, other))

    def truth(self, test: cst.BaseExpression) -> bool | None:
        """Evaluates a condition; what it is for certain. Numbers are never folded: they count loops."""
        value = self.eval(test)
        if isinstance(value, Tensor):
            self.emit("decided", value, test)
        if isinstance(value, Const) and isinstance(value.value, (bool, str, type(None))):
            return bool(value.value)
        if _is_flag(value):
            return boolean(self.store.get(value, " truth"))
        if isinstance(value, Instance):
            return None if value.kind in ("dataset", "loader", "instance") else True
        if type(value) is Opaque and value.source in ("param", "attr") and SCHEDULER_NAME.search(value.name) and "bool" not in value.tags:
            return True if isinstance(test, (cst.Name, cst.Attribute)) else None  # `if scheduler:` asks whether there is one
        return None

    def narrow(self, test: cst.BaseExpression, holds: bool) -> None:
        """What a condition says of the names in it: `x is None`, `not x`, `a and b`."""
        kind = type(test)
        if kind is cst.UnaryOperation and type(test.operator) is cst.Not:
            self.narrow(test.expression, not holds)
        elif kind is cst.BooleanOperation:
            if (type(test.operator) is cst.And) == holds:
                self.narrow(test.left, holds)
                self.narrow(test.right, holds)
        elif kind is cst.Comparison and len(test.comparisons) == 1:
            part = test.comparisons[0]
            if type(part.operator) in (cst.Is, cst.IsNot) and type(part.comparator) is cst.Name:
                if part.comparator.value == "None":
                    self._keep_only(test.left, (type(part.operator) is cst.Is) == holds)
            elif type(part.operator) in (cst.Is, cst.IsNot, cst.Equal, cst.NotEqual) and (
                type(part.operator) in (cst.Is, cst.Equal)
            ) != holds:
                self._leave_out(test.left, part.comparator, same_class)
        elif kind is cst.Call and type(test.func) is cst.Name and test.func.value == "issubclass" and not holds:
            if len(test.args) == 2:
                self._leave_out(test.args[0].value, test.args[1].value, self.derives)
        elif kind is cst.Name:
            flag = self.peek(test)
            if _is_flag(flag):
                self.store.set(flag, " truth", Const(holds))  # for as long as this path goes, in what it calls too
            self._keep_only(test, not holds, truthy=True)

    def _leave_out(self, target: cst.BaseExpression, cls: cst.BaseExpression, fits) -> None:
        """A name holds no class that fits `cls`: what else it may hold."""
        value = self.peek(target) if type(target) in (cst.Name, cst.Attribute) else None
        if isinstance(value, Union) and any(isinstance(alt, (Class, Ref)) for alt in value.alts):
            base = self.eval(cls)
            alts = [alt for alt in value.alts if not isinstance(alt, (Class, Ref)) or not fits(alt, base)]
            if alts and len(alts) < len(value.alts):
                self.assign(target, alts[0] if len(alts) == 1 else Union(tuple(alts)), quiet=True)

    def _keep_only(self, target: cst.BaseExpression, none: bool, truthy: bool = False) -> None:
        if type(target) not in (cst.Name, cst.Attribute):
            return
        value = self.peek(target)
        if not isinstance(value, Union):
            return
        alts = [alt for alt in value.alts if (isinstance(alt, Const) and alt.value is None) == none]
        if truthy and none:
            alts = list(value.alts)
        if alts and len(alts) < len(value.alts):
            self.assign(target, alts[0] if len(alts) == 1 else Union(tuple(alts)), quiet=True)

    # -- loops ----------------------------------------------------------------------------------------------------

    def run_loop(self, kind: str, node, over: Value | None, step, endless: bool = False, orelse=None) -> None:
        """Runs a loop body until what is known at its head no longer changes, twice at most."""
        once = _once(node)
        loop = Loop(kind, over, self.site(node), once)
        outer = self.loops
        self.loops = (*outer, loop)
        head = self.emit("loop", over, node, loop=loop)
        if self.graph.dead:
            self.loops = outer
            return
        base = self.store
        mark = self.graph.mark()
        passes = 2 if len(self.loops) <= 3 and not once else 1
        for number in range(passes):
            jumps = Jumps(base)
            self.jumps.append(jumps)
            self.store = Store(base)
            try:
                step()
                ends = list(jumps.continues)
                if not self.graph.dead:
                    ends.append((self.store.writes_since(base), self.graph.tails))
            finally:
                self.jumps.pop()
                self.store = base
            trial = Store(base)
            trial.merge([{}, *(writes for writes, _ in ends)])
            if number == passes - 1 or not _changed(base, trial.data):
                break
            self.graph.undo(mark)
            base.data.update(trial.data)
        if not once:
            for _, tails in ends:
                self.graph.link(head, tails)
        self.loops = outer
        if once:
            exits = ends
        else:
            exits = [] if endless else [({}, [head]), *((writes, []) for writes, _ in ends)]
        self.graph.tails = []
        if exits:
            self.meet(exits)
            if orelse is not None:
                after_loop = self.graph.tails
                self.graph.tails = after_loop
                self.suite(orelse.body)
        if jumps.breaks:
            normal = [({}, self.graph.tails)] if not self.graph.dead else []
            self.meet(normal + jumps.breaks)

    def run_for(self, node: cst.For) -> None:
        over = self.eval(node.iter)
        element_of = self.start_iteration(over, node)

        def step():
            self.assign(node.target, element_of(), quiet=True)
            self.suite(node.body)

        self.run_loop("for", node, over, step, orelse=node.orelse)

    def run_while(self, node: cst.While) -> None:
        endless = isinstance(node.test, cst.Name) and node.test.value == "True" or (
            isinstance(node.test, cst.Integer) and node.test.value != "0"
        )

        def step():
            if not endless:
                self.truth(node.test)
            self.suite(node.body)

        self.run_loop("while", node, None, step, endless, node.orelse)

    def leave(self, kind: str) -> None:
        if self.jumps and not self.graph.dead:
            jumps = self.jumps[-1]
            where = jumps.breaks if kind == "break" else jumps.continues
            where.append((dict(self.store.writes_since(jumps.base)), self.graph.tails))
        self.graph.tails = []

    # -- other compound statements ----------------------------------------------------------------------------------

    def run_with(self, node: cst.With) -> None:
        depth = len(self.contexts)
        for item in node.items:
            value = self.eval(item.item)
            entered = self.enter(value, item.item)
            if item.asname is not None:
                self.assign(item.asname.name, entered, quiet=True)
        try:
            self.suite(node.body)
        finally:
            del self.contexts[depth:]

    def run_try(self, node) -> None:
        base, tails = self.store, list(self.graph.tails)
        count = len(self.graph.events)
        self.store = Store(base)
        self.suite(node.body)
        if node.orelse is not None and not self.graph.dead:
            self.suite(node.orelse.body)
        ends = [] if self.graph.dead else [(self.store.writes_since(base), self.graph.tails)]
        part_writes = self.store.writes_since(base)
        self.store = base
        # An exception may come before or after any event of the body.
        thrown = list(dict.fromkeys([*tails, *self.graph.events[count:][-4:]]))
        for handler in node.handlers:
            self.store = Store(base)
            self.store.merge([{}, part_writes])
            self.graph.tails = list(thrown)
            if handler.name is not None:
                self.assign(handler.name.name, Opaque("error", "call"), quiet=True)
            self.suite(handler.body)
            if not self.graph.dead:
                ends.append((self.store.writes_since(base), self.graph.tails))
            self.store = base
        self.graph.tails = []
        self.meet(ends)
        if node.finalbody is not None:
            dead = self.graph.dead
            if dead:
                self.graph.tails = list(thrown)
            self.suite(node.finalbody.body)
            if dead:
                self.graph.tails = []

    def run_match(self, node: cst.Match) -> None:
        self.eval(node.subject)

        def path(case):
            def go():
                for name in _captured_names(case.pattern):
                    self.assign(name, Opaque(name.value, "item"), quiet=True)
                if case.guard is not None:
                    self.eval(case.guard)
                self.suite(case.body)

            return go

        self.branch([*(path(case) for case in node.cases), lambda: None])

    def run_def(self, node: cst.FunctionDef) -> None:
        func = Func(node.name.value, self.frame.facts)
        func.node, func.parsed, func.frame = node, self.parsed, self.frame
        func.home = None
        self.frame.captured = True
        self.set_name(node.name.value, func)  # decorators that open a context are seen at the call

    def run_class(self, node: cst.ClassDef) -> None:
        found = None
        # A class in a function is none of the file's, whatever it is called.
        for cls in self.frame.facts.all_classes() if self.frame.func is None else ():
            if cls.name == node.name.value:
                found = cls
        value = self.class_of(self.frame.facts, found) if found else Opaque(node.name.value, "global")
        self.set_name(node.name.value, value)

    # -- simple statements ------------------------------------------------------------------------------------------

    def run_expr(self, node: cst.Expr) -> None:
        value = self.eval(node.value)
        self.emit_bare(node.value, value)

    def run_assign(self, node: cst.Assign) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target.target, value, node=node)

    def run_annotated(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value), node=node)

    def run_augmented(self, node: cst.AugAssign) -> None:
        self.augment(node)

    def run_return(self, node: cst.Return) -> None:
        value = self.eval(node.value) if node.value is not None else NONE
        if self.frame is not None and self.frame.func is not None and not self.graph.dead:
            if len(self.stack) == 1:
                self.emit("return", value, node)
            self.frame.returns.append((dict(self.store.writes_since(self.frame.base)), value, self.graph.tails))
        self.graph.tails = []

    def run_raise(self, node: cst.Raise) -> None:
        if node.exc is not None:
            self.eval(node.exc)
        self.graph.tails = []

    def run_import(self, node: cst.Import) -> None:
        for alias in node.names:
            name = self.dotted(alias.name)
            if name[:6] == "torch.":
                self.emit("import", None, node)
            if alias.asname is not None:
                self.set_name(alias.asname.name.value, self.imported(name, self.frame.facts))
            else:
                first = name.split(".")[0]
                self.set_name(first, self.imported(first, self.frame.facts))

    def run_import_from(self, node: cst.ImportFrom) -> None:
        if isinstance(node.names, cst.ImportStar):
            return
        base = "." * len(node.relative) + (self.dotted(node.module) if node.module is not None else "")
        if base.split(".")[0] == "torch":
            self.emit("import", None, node)
        for alias in node.names:
            name = alias.name.value
            qualified = f"{base}.{name}" if base.strip(".") else base + name
            local = alias.asname.name.value if alias.asname is not None else name
            self.set_name(local, self.imported(qualified, self.frame.facts))

    def run_global(self, node: cst.Global) -> None:
        self.frame.globals.update(item.name.value for item in node.names)

    def run_nonlocal(self, node: cst.Nonlocal) -> None:
        self.frame.nonlocals.update(item.name.value for item in node.names)

    def run_assert(self, node: cst.Assert) -> None:
        self.eval(node.test)
        if type(node.test) is cst.Name and node.test.value == "False":
            self.graph.tails = []
        else:
            self.narrow(node.test, True)

    def run_del(self, node: cst.Del) -> None:
        target = node.target
        for element in target.elements if isinstance(target, cst.Tuple) else (target,):
            name = getattr(element, "value", element) if isinstance(element, cst.Element) else element
            if isinstance(name, cst.Name):
                self.set_name(name.value, Opaque(name.value, "deleted"))
            elif isinstance(name, cst.Attribute):
                for owner in real(self.eval(name.value)):
                    self.store.set(owner, name.attr.value, Opaque(name.attr.value, "deleted"))


def _mention(words: frozenset[str], facts: FileFacts, mentioned: set[str]) -> None:
    """Adds what a stretch of a file mentions, itself or through the file's functions."""
    todo = [words]
    while todo:
        new = todo.pop() - mentioned
        mentioned |= new
        todo.extend(facts.functions[name].words for name in new if name in facts.functions)


def _captured_names(pattern):
    for node in walk(pattern):
        if isinstance(node, cst.MatchAs) and node.name is not None:
            yield node.name
        elif isinstance(node, cst.MatchStar) and isinstance(node.name, cst.Name):
            yield node.name


def _is_flag(value: Value | None) -> bool:
    """Whether a value is an argument that says what to do, `is_train` or `update=True`: nothing changes it later."""
    return type(value) is Opaque and value.source == "param" and ("bool" in value.tags or bool(_FLAG.match(value.name)))


_FLAG = re.compile(
    r"(?:is|do|use|has|should|needs?|with|if|no|enable|update)_\w+$|(?:is_?)?(?:train|training|eval|test|testing|val)$"
)


def _once(node: cst.CSTNode) -> bool:
    """`for epoch in range(1)`: a loop in name only."""
    over = node.iter if type(node) is cst.For else None
    return (
        type(over) is cst.Call and type(over.func) is cst.Name and over.func.value == "range"
        and len(over.args) == 1 and type(over.args[0].value) is cst.Integer and over.args[0].value.value == "1"
    )


def _changed(base: Store, writes: dict) -> bool:
    for (owner, name), value in writes.items():
        old = base.get(owner, name)
        if old is None or old is value:
            continue
        if isinstance(value, Value) and isinstance(old, Value):
            if same(old, value) or _plain(old) and _plain(value):
                continue
            return True
        if not isinstance(value, Value):
            if type(value) is type(old) and getattr(value, "known", value) == getattr(old, "known", old):
                continue
            return True
    return False


def _plain(value: Value) -> bool:
    return all(
        isinstance(alt, Const) and not isinstance(alt.value, (bool, type(None))) or type(alt) is Opaque and not alt.flows and not alt.parts
        for alt in alternatives(value)
    )


_STATEMENTS = {
    cst.If: Run.run_if,
    cst.For: Run.run_for,
    cst.While: Run.run_while,
    cst.With: Run.run_with,
    cst.Try: Run.run_try,
    cst.TryStar: Run.run_try,
    cst.Match: Run.run_match,
    cst.FunctionDef: Run.run_def,
    cst.ClassDef: Run.run_class,
    cst.Expr: Run.run_expr,
    cst.Assign: Run.run_assign,
    cst.AnnAssign: Run.run_annotated,
    cst.AugAssign: Run.run_augmented,
    cst.Return: Run.run_return,
    cst.Raise: Run.run_raise,
    cst.Break: lambda run, node: run.leave("break"),
    cst.Continue: lambda run, node: run.leave("continue"),
    cst.Import: Run.run_import,
    cst.ImportFrom: Run.run_import_from,
    cst.Global: Run.run_global,
    cst.Nonlocal: Run.run_nonlocal,
    cst.Assert: Run.run_assert,
    cst.Del: Run.run_del,
}

