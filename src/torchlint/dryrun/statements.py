"""What each statement does."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.conditions import is_main_test, puts_in_asked_mode
from torchlint.dryrun.store import Store
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import NONE, Func, Opaque, Value, real

# What goes on behind its block when an exception comes, and expects one.
EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assert_raises", "assert_raises_regex"})


class Statements:
    """The part of a run that walks statements. See `interpreter.Run` for the state it works on."""

    def run_block(self, statements) -> None:
        for statement in statements:
            if not self.graph.tails:  # nothing can come here
                return
            self.run_statement(statement)

    def run_statement(self, node: cst.CSTNode) -> None:
        if type(node) is cst.SimpleStatementLine:
            for small in node.body:
                if not self.graph.tails:
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

    # -- compound statements --------------------------------------------------------------------------------------

    def run_if(self, node: cst.If) -> None:
        known = self.truth(node.test)
        if known is None and puts_in_asked_mode(node):
            known = True  # in the other case, too, it is in this mode behind it
        if self.frame.func is None and is_main_test(node.test):
            known, holding, failing = True if node.orelse is None else None, (), ()  # the program itself: no guard
        else:
            holding, failing = self.both_sides(node.test)
            if known is None and self.guards:
                known = self.settled(holding, failing)
        outside = self.guards

        def then():
            self.guards = (*outside, *holding)
            try:
                self.narrow(node.test, True)
                asked_for = self.asked_for(node.test)
                self.suite(node.body)
                if asked_for is not None and not self.graph.dead:
                    self.note_filled_in(*asked_for)
            finally:
                self.guards = outside

        def other():
            self.guards = (*outside, *failing)
            try:
                self.narrow(node.test, False)
                if type(node.orelse) is cst.If:
                    self.run_if(node.orelse)
                elif node.orelse is not None:
                    self.suite(node.orelse.body)
            finally:
                self.guards = outside

        if known is True:
            then()
        elif known is False:
            other()
        else:
            self.branch((then, other))

    def run_for(self, node: cst.For) -> None:
        over = self.opened(self.eval(node.iter), node.iter)
        if self.run_one_by_one(node, over):
            return
        element_of = self.start_iteration(over, node)

        def step():
            self.assign(node.target, element_of(), quiet=True)
            self.suite(node.body)

        self.run_loop("for", node, over, step, orelse=node.orelse)
        last = self.last_layer(over, node) if not self.graph.dead else None
        if last is not None:
            self.assign(node.target, last, quiet=True)
            self.suite(node.body)

    def run_while(self, node: cst.While) -> None:
        endless = type(node.test) is cst.Name and node.test.value == "True" or (
            type(node.test) is cst.Integer and node.test.value != "0"
        )

        def step():
            if not endless:
                self.truth(node.test)
            self.suite(node.body)

        self.run_loop("while", node, None, step, endless, node.orelse)

    def run_with(self, node: cst.With) -> None:
        depth, count, tails = len(self.contexts), len(self.graph.events), list(self.graph.tails)
        for item in node.items:
            value = self.eval(item.item)
            entered = self.enter(value, item.item)
            if item.asname is not None:
                self.assign(item.asname.name, entered, quiet=True)
        try:
            self.suite(node.body)
        finally:
            del self.contexts[depth:]
        if any(called(item.item) in EXPECTING for item in node.items):
            self.graph.tails = list(dict.fromkeys([*tails, *self.graph.tails, *self.graph.events[count:][-4:]]))

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

    # -- simple statements ----------------------------------------------------------------------------------------

    def run_expr(self, node: cst.Expr) -> None:
        parts = [element.value for element in node.value.elements] if type(node.value) is cst.Tuple else [node.value]  # `x.cpu(), y.cpu()`
        for part in parts:
            self.emit_bare(part, self.eval(part))

    def emit_bare(self, node: cst.BaseExpression, value: Value) -> None:
        """A statement that is only an expression."""
        if type(node) is cst.Attribute:
            self.emit("bare", value, node, name=node.attr.value, owner=self.peek(node.value))
        elif type(node) is cst.Call and self.last_call is not None:
            owner, name, args = self.last_call
            if type(node.func) is cst.Attribute and node.func.attr.value == name or type(node.func) is cst.Name:
                if self.pending_grad is not None:
                    self.store.set(self.graph_key, "grad", self.pending_grad)
                    self.pending_grad = None
                self.emit("discarded", value, node, name=name, owner=owner, args=args)

    def run_assign(self, node: cst.Assign) -> None:
        self.assigned = node.value, node.targets[0].target
        value = self.eval(node.value)
        for target in node.targets:
            self.assign(target.target, value, node=node)

    def run_annotated(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.assigned = node.value, node.target
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
            if name[:6] == "torch." or name[:10] == "torchtext.":
                self.emit("import", None, node)
            if alias.asname is not None:
                self.set_name(alias.asname.name.value, self.imported(name, self.frame.facts))
            else:
                first = name.split(".")[0]
                self.set_name(first, self.imported(first, self.frame.facts))

    def run_import_from(self, node: cst.ImportFrom) -> None:
        if type(node.names) is cst.ImportStar:
            return
        base = "." * len(node.relative) + (self.dotted(node.module) if node.module is not None else "")
        if base.split(".")[0] in ("torch", "transformers", "torchvision", "torchtext"):
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
        for element in target.elements if type(target) is cst.Tuple else (target,):
            name = getattr(element, "value", element) if type(element) is cst.Element else element
            if type(name) is cst.Name:
                self.set_name(name.value, Opaque(name.value, "deleted"))
            elif type(name) is cst.Attribute:
                for owner in real(self.eval(name.value)):
                    self.store.set(owner, name.attr.value, Opaque(name.attr.value, "deleted"))
            elif type(name) is cst.Subscript:
                self.delete_item(name)

    def delete_item(self, target: cst.Subscript) -> None:
        """`del net[-1]`: a layer less."""
        index = target.slice[0].slice if len(target.slice) == 1 else None
        key = self.eval(index.value) if type(index) is cst.Index else None
        owners = real(self.eval(target.value))
        for owner in owners:
            self.take_layer(owner, key if len(owners) == 1 else None)


def called(node: cst.BaseExpression) -> str:
    """The last part of the name that an expression calls; "" where it calls none."""
    func = node.func if type(node) is cst.Call else None
    return func.attr.value if type(func) is cst.Attribute else func.value if type(func) is cst.Name else ""


def _captured_names(pattern):
    for node in walk(pattern):
        if type(node) is cst.MatchAs and node.name is not None:
            yield node.name
        elif type(node) is cst.MatchStar and type(node.name) is cst.Name:
            yield node.name


_STATEMENTS = {
    cst.If: Statements.run_if,
    cst.For: Statements.run_for,
    cst.While: Statements.run_while,
    cst.With: Statements.run_with,
    cst.Try: Statements.run_try,
    cst.TryStar: Statements.run_try,
    cst.Match: Statements.run_match,
    cst.FunctionDef: Statements.run_def,
    cst.ClassDef: Statements.run_class,
    cst.Expr: Statements.run_expr,
    cst.Assign: Statements.run_assign,
    cst.AnnAssign: Statements.run_annotated,
    cst.AugAssign: Statements.run_augmented,
    cst.Return: Statements.run_return,
    cst.Raise: Statements.run_raise,
    cst.Break: lambda run, node: run.leave("break"),
    cst.Continue: lambda run, node: run.leave("continue"),
    cst.Import: Statements.run_import,
    cst.ImportFrom: Statements.run_import_from,
    cst.Global: Statements.run_global,
    cst.Nonlocal: Statements.run_nonlocal,
    cst.Assert: Statements.run_assert,
    cst.Del: Statements.run_del,
}
