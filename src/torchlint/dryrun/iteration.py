"""What going through something does, and what each element is worth: of loops, comprehensions, `next`."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.containers import CONTAINERS
from torchlint.dryrun.short_loops import MOST_NESTED
from torchlint.dryrun.values import NOTHING, Class, Const, Func, Instance, Iter, Opaque, Seq, Tensor, Union, Value, join, real


class Iteration:
    """The part of a run that goes through iterables. See `interpreter.Run` for the state it works on."""

    def eval_comprehension(self, node) -> Value:
        results: list[Value] = []
        over = self.eval(node.for_in.iter)
        made = self.each_in_turn(node, over)
        if made is not None:
            return made
        self.run_for_in(node, node.for_in, results, over)
        results = results[-1:]
        if type(node) is cst.ListComp and type(node.elt) is cst.Name and isinstance(results[0] if results else None, Instance):
            self.emit("repeat", results[0], node)
        if type(node) is cst.DictComp:
            return self.mapping({f"*{n}": value for n, value in enumerate(results)}, node, True, alike=bool(results))
        kind = {cst.ListComp: "list", cst.SetComp: "set"}.get(type(node), "generator")
        made = self.sequence("list" if kind == "generator" else kind, results, node, True, alike=bool(results))
        return Iter("generator", made, made.site, once=True) if kind == "generator" else made

    def each_in_turn(self, node, over: Value) -> Value | None:
        """What a comprehension over a few things gives that are all known: one item for each."""
        part = node.for_in
        if type(node) is cst.GeneratorExp or part.ifs or part.inner_for_in is not None or self.unrolled >= MOST_NESTED:
            return None
        each = self.few_things(over)
        if not each:
            return None
        self.consume(over, part)
        known, values = {}, []
        self.unrolled += 1
        try:
            for item in each:
                self.assign(part.target, item, quiet=True)
                key = self.eval(node.key) if type(node) is cst.DictComp else None
                values.append(self.eval(node.value if type(node) is cst.DictComp else node.elt))
                known[key.value if isinstance(key, Const) else f"*{len(known)}"] = values[-1]
        finally:
            self.unrolled -= 1
        if type(node) is cst.DictComp:
            return self.mapping(known, node)
        return self.sequence("list" if type(node) is cst.ListComp else "set", values, node)

    def run_for_in(self, node, part: cst.CompFor, results: list[Value], over: Value) -> None:
        """A `for` of a comprehension, with those behind it: what it gives is added to the results."""
        element_of = self.start_iteration(over, part)

        def step():
            self.assign(part.target, element_of(), quiet=True)
            for condition in part.ifs:
                self.eval(condition.test)
            if part.inner_for_in is not None:
                self.run_for_in(node, part.inner_for_in, results, self.eval(part.inner_for_in.iter))
            elif type(node) is cst.DictComp:
                self.eval(node.key)
                results.append(self.eval(node.value))
            else:
                results.append(self.eval(node.elt))

        self.run_loop("comprehension", part, over, step)

    def start_iteration(self, over: Value, node: cst.CSTNode):
        """Tells that a pass over a value starts; gives what each element is worth."""
        core = self.iterated(over)
        self.consume(over, node)
        for alt in real(core):
            if isinstance(alt, Instance) and alt.kind == "loader" or isinstance(alt, Opaque):
                self.emit("loader.iterate", alt, node.item if type(node) is cst.From else node.iter, over=alt)
        return lambda: self.element(over)

    def iterated(self, over: Value) -> Value:
        """What enumerate(...), tqdm(...) and their like go over in the end."""
        while isinstance(over, Iter) and over.kind in ("enumerate", "same", "generator"):
            inner = over.base if over.kind != "generator" else self.handed_on(over)
            if inner is None:
                break
            over = inner
        if isinstance(over, Union):  # `bar = tqdm(loader) if shown else loader`: the same, whichever it is
            inner = [self.iterated(alt) for alt in over.alts]
            return inner[0] if inner and all(alt is inner[0] for alt in inner) else over
        return over

    def handed_on(self, over: Iter) -> Instance | None:
        """The loader whose batches a generator of the project yields, where it yields nothing else."""
        items = self.known_items(over.base)
        value = items[0] if len(items) == 1 else None
        if isinstance(value, Seq):  # a batch of known sizes
            value = next(iter(self.known_items(value)), None)
        for _ in range(2):
            if type(value) is Opaque and value.source == "item" and "batch" in value.tags:
                value = value.origin
        return value if isinstance(value, Instance) and value.kind == "loader" else None

    def opened(self, over: Value, node: cst.CSTNode) -> Value:
        """What going through an object of the project's own goes through: what its __iter__ gives."""
        found = over.cls.method("__iter__") if type(over) is Instance and isinstance(over.cls, Class) and over.kind == "instance" else None
        if found is None or found[1] in self.stack:
            return over
        given = self.inline(Func("__iter__", found[0].facts, found[1], found[0]), [over], {}, node, over)
        return given if isinstance(given, (Iter, Seq)) or isinstance(given, Instance) and given is not over else over

    def element(self, over: Value) -> Value:
        """One element of an iterable."""
        alts = real(over)
        if len(alts) > 1:
            result = self.element(alts[0])
            for alt in alts[1:]:
                result = join(result, self.element(alt))
            return result
        if alts:
            over = alts[0]
        if isinstance(over, Iter):
            return self.iter_element(over)
        if isinstance(over, Seq) or isinstance(over, Instance) and over.type in CONTAINERS:
            items = self.known_items(over)
            if items and len(items) <= 4:
                result = items[0]
                for alt in items[1:]:
                    result = join(result, alt)
                return result
            if items and all(isinstance(item, Const) for item in items):
                return Opaque("", "item")
            return Opaque("", "item", None, over.flows, NOTHING, over)
        if isinstance(over, Instance) and over.kind == "loader":
            return self.batch_of(over, Opaque("batch", "item", None, NOTHING, NOTHING, over, frozenset({"batch"})))
        if isinstance(over, Tensor):
            return self.note_part(over.with_(None, maybe0=True), over)
        flows = over.flows
        return self.note_part(Opaque("", "item", None, flows, over.parts, over, frozenset({"batch?"})), over)

    def iter_element(self, over: Iter) -> Value:
        if over.kind == "enumerate":
            return self.sequence("tuple", [Opaque("", "op", tags=frozenset({"number"})), self.element(over.base)], None)
        if over.kind in ("same", "generator", "values"):
            return self.element(over.base) if over.kind != "values" else self._any_item(over.base)
        if over.kind == "zip":
            return self.sequence("tuple", [self.element(item) for item in self.known_items(over.base)], None)
        if over.kind == "items":
            return self.sequence("tuple", [Opaque("", "item", tags=frozenset({"str"})), self._any_item(over.base)], None)
        if over.kind in ("parameters", "named_parameters"):
            traits = {"graph": True, "leaf": True, "param": True}
            value: Value = Tensor("", "item", None, NOTHING, NOTHING, over, traits)
        elif over.kind in ("modules", "children", "named_modules", "named_children"):
            value = Opaque("", "item", None, NOTHING, NOTHING, over, frozenset({"module"}))
        elif over.kind == "filter" and all(isinstance(alt, Iter) and alt.kind == "parameters" for alt in real(over.base)):
            return self.element(over.base)
        else:
            value = Opaque("", "item", None, over.flows, NOTHING, over)
        if over.kind.startswith("named_"):
            return self.sequence("tuple", [Opaque("", "item", tags=frozenset({"str"})), value], None)
        return value

    def _any_item(self, over: Value) -> Value:
        items = self.known_items(over)
        if not items:
            return Opaque("", "item", None, over.flows, over.parts, over, frozenset({"batch?"}))
        result = items[0]
        for alt in items[1:]:
            result = join(result, alt)
        return result

    def consume(self, over: Value, node: cst.CSTNode) -> None:
        """Notes that a generator is used up by this, if it is that one for certain."""
        alts = real(over)
        for alt in alts if len(alts) == 1 else ():
            inner = alt
            while isinstance(inner, Iter) and inner.kind in ("enumerate", "same", "zip") and not inner.once:
                inner = inner.base
            if isinstance(inner, Iter) and inner.once:
                self.emit("consume", inner, node.iter if hasattr(node, "iter") else node)
