"""What calling something does, by what is called: the project's functions and classes, Python's functions, torch."""

from __future__ import annotations

import functools
import os
import re

import libcst as cst

from torchlint.catalogue import effects
from torchlint.dryrun.alternatives import chosen, models_made, possible
from torchlint.dryrun.builtins import Builtins
from torchlint.dryrun.classes import ProjectClasses
from torchlint.dryrun.functions import Functions
from torchlint.dryrun.switches import OF_PARSERS, Switches
from torchlint.dryrun.torch_api.calls import TorchCalls
from torchlint.dryrun.values import (
    NONE,
    ONE_OF_DICTS,
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Method,
    Opaque,
    Partial,
    ProjectModule,
    Ref,
    Seq,
    Super,
    Tensor,
    Value,
    join,
    now,
    number,
    real,
    union_of,
    with_parts,
)
from torchlint.sieve.nodes import BUILTINS


def _with_method(alts: tuple[Value, ...], name: str) -> tuple[Value, ...]:
    """Of a sum that may still be the number that it began with, `total = 0.0`, the tensors alone, where numbers have no such method: with
    `total.double()` the program goes on with a tensor, or not at all."""
    tensors = tuple(alt for alt in alts if number(alt) is None)
    sure = name in effects.KEEPS and bool(tensors) and all(isinstance(alt, Tensor) for alt in tensors)
    return tensors if sure else alts


class Calls(Functions, ProjectClasses, Builtins, TorchCalls, Switches):
    """The part of a run that evaluates calls. See `interpreter.Run` for the state it works on."""

    def eval_call(self, node: cst.Call) -> Value:
        """The value of a call, with all that it does."""
        func = node.func
        owner: Value | None = None
        if type(func) is cst.Attribute:
            owner = self.eval(func.value)
            args, kwargs = self.arguments(node)
            if f".{func.attr.value}" in self.watched_calls and not isinstance(owner, (Ref, ProjectModule)):
                name = func.attr.value
                self.emit("method", owner, node, name=name, args=args, kwargs=kwargs, in_forward=self.in_forward())
            alts = _with_method(real(owner), func.attr.value)
            if func.attr.value in ("train", "eval") and all(isinstance(alt, Opaque) or getattr(alt, "kind", "") in ("module", "wrapper") for alt in alts):
                # Whichever of them it is: the name goes on standing for the same one, and that one is in the mode.
                results = [self.call_method(alt, func.attr.value, args, kwargs, node) for alt in alts]
                result = functools.reduce(join, results) if results else Opaque("", "call")
            else:
                result = self.each(alts, lambda alt: self.call_method(alt, func.attr.value, args, kwargs, node), func.attr.value == "forward")
            self.last_call = (owner, func.attr.value, args)
            return result
        if type(func) is cst.Name and func.value == "super":
            self.eval_arguments_only(node)
            frame = self.frame
            while frame is not None and frame.home is None:
                frame = frame.outer
            if frame is not None and frame.self_value is not None:
                return Super(frame.self_value, frame.home)
            return Opaque("super", "call")
        callee = self.eval(func)
        args, kwargs = self.arguments(node)
        result = self.each(real(callee), lambda alt: self.call_value(alt, args, kwargs, node), forward=True)
        self.last_call = (None, func.value if type(func) is cst.Name else "", args)
        return result

    def each(self, alts: tuple[Value, ...], call, forward: bool = False) -> Value:
        """Calls each of several alternatives on a path of its own; `forward` where it is they that are called."""
        if not alts:
            return Opaque("", "call")
        if len(alts) > 1 and (self.guards or self.choice):
            alts = possible(alts, (*self.guards, *self.choice))
        if len(alts) == 1:
            return call(alts[0])
        results: list[tuple[Value, Value]] = []
        before, around, begun = self.choice, self.among, now()

        def path(alt: Value):
            def go():
                self.choice, self.among = (*before, *chosen(alt, alts)), alts
                results.append((alt, call(alt)))

            return go

        self.unsure += 1
        self.branch([path(alt) for alt in alts])
        self.unsure -= 1
        self.choice, self.among = before, around
        known = models_made(alts) if forward else ()
        found = functools.reduce(join, [result for alt, result in results if not known or alt in known])
        if known and type(found) in (Opaque, Tensor) and found.serial > begun:  # it comes out of whichever it was
            found.flows = union_of((found.flows, *(result.flows for alt, result in results if alt not in known)))
        return found

    def arguments(self, node: cst.Call) -> tuple[list[Value], dict[str, Value]]:
        """Positional and keyword arguments; "*" and "**" stand in the keywords where more may have been given."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}
        for arg in node.args:
            value = self.eval(arg.value)
            if arg.star == "*":
                items = self.items_of(value)
                if items is None:
                    kwargs["*"] = value if "*" not in kwargs else Opaque("*", "call")
                else:
                    args.extend(items)
            elif arg.star == "**":
                known, more = self.keywords_in(value)
                if more:
                    kwargs["**"] = value
                kwargs = {**known, **kwargs}  # one that stands here, too, is in none of those dicts that are given
            elif arg.keyword is not None:
                kwargs[arg.keyword.value] = value
            else:
                args.append(value)
        return args, kwargs

    def keywords_in(self, value: Value) -> tuple[dict[str, Value], bool]:
        """What `**value` gives by name, and whether it may give more. Of one dict or another, `{"num_workers": 4} if cuda else {}`, it is
        known what none of them has; what they differ in is given or not, and which of it goes with which is not kept."""
        each = [self.store.get(alt, "{}") if isinstance(alt, Dict) else None for alt in real(value)]
        of_one = [
            {key: item for key, item in items.known.items() if isinstance(key, str) and key[:1] != "*"} for items in each if items is not None
        ]
        more = not each or any(items is None or items.open for items in each)
        if len(each) == 1 or more:
            return (of_one[0] if len(each) == 1 and of_one else {}), more
        return {
            key: of_one[0][key] if all(_same(items.get(key), of_one[0].get(key)) for items in of_one) else self._given_or_not(key, of_one, value)
            for key in dict.fromkeys(key for items in of_one for key in items)
        }, False

    def _given_or_not(self, key: str, of_one: list[dict[str, Value]], dicts: Value) -> Value:
        result: Value = Opaque(key, ONE_OF_DICTS, origin=dicts)
        for items in of_one:
            if not isinstance(items.get(key, NONE), Const):
                result = join(result, items[key])
        return result

    def eval_arguments_only(self, node: cst.Call) -> None:
        for arg in node.args:
            self.eval(arg.value)

    def call_value(self, callee: Value, args: list[Value], kwargs: dict[str, Value], node: cst.CSTNode) -> Value:
        """Calls a value."""
        if self.watched_own and isinstance(callee, (Func, Class)):
            self.emit_own_call(callee, args, kwargs, node)
        if isinstance(callee, Func):
            return self.inline(callee, args, kwargs, node)
        if len(args) == 1 and not kwargs and isinstance(args[0], Opaque) and "loaded" in args[0].tags and _is_dict(callee):
            return args[0]  # `Dict(torch.load(path))`: what was read, with its items as attributes
        if isinstance(callee, Class):
            return self.instantiate(callee, args, kwargs, node)
        if isinstance(callee, Ref):
            return self.call_ref(callee, args, kwargs, node)
        if isinstance(callee, Method):
            return self.call_method(callee.owner, callee.name, args, kwargs, node)
        if isinstance(callee, Partial):
            return self.call_value(callee.func, [*callee.args, *args], {**callee.kwargs, **kwargs}, node)
        if isinstance(callee, Instance):
            if callee.kind in ("module", "loss", "wrapper"):
                return self.call_module(callee, args, kwargs, node)
            if isinstance(callee.cls, Class):
                found = callee.cls.method("__call__")
                if found is not None:
                    return self.inline(Func("__call__", found[0].facts, found[1], found[0]), [callee, *args], kwargs, node, callee)
        if isinstance(callee, Opaque):
            if callee.source in ("global", "package"):
                builtin = getattr(self, "builtin_" + callee.name, None)
                if builtin is not None and callee.origin is None:
                    return builtin(args, kwargs, node)
                if callee.name in BUILTINS and callee.origin is None:
                    return self.result_of([*args, *kwargs.values()])
            return self.call_opaque(callee, args, kwargs, node)
        return self.unknown_call("", args, kwargs, node)

    def emit_own_call(self, callee: Func | Class, args, kwargs, node) -> None:
        """Something of the project is called that a page speaks of: "helpers.save" is `save` of any file helpers.py."""
        home = os.path.splitext(callee.facts.path)[0].replace(os.sep, ".").removesuffix(".__init__")
        for name in self.watched_own:
            module, _, last = name.rpartition(".")
            if last == callee.name and f".{home}".endswith(f".{module}") and getattr(callee, "home", None) is None:
                self.emit("call", None, node, name=name, args=args, kwargs=kwargs, in_module=False, of_module=False)

    def unknown_call(self, name: str, args, kwargs, node, owner: Value | None = None) -> Value:
        """A call of something that cannot be seen: it may do anything to what it is given."""
        made = (self.made_elsewhere(name, args, kwargs, node) or self.shown(name, args, node)) if args or kwargs else None
        if made is not None:
            return made
        given = [*args, *kwargs.values()]
        for value in given:
            for alt in real(value):
                if isinstance(alt, (Seq, Dict)):
                    self.escaped.add(id(alt))
                    self.keep.append(alt)
                    for item in self.known_items(alt):
                        self.escaped.add(id(item))
                        self.keep.append(item)
                elif isinstance(alt, (Instance, Tensor)):
                    self.escaped.add(id(alt))
                    self.keep.append(alt)
        self.emit("unknown", owner, node, name=name, args=given)
        of = [owner] if owner is not None else []
        if isinstance(owner, Instance) and owner.kind == "instance":  # a distribution, say, computes with what it was made of
            of += [*owner.args, *owner.kwargs.values()]
        flows = union_of(value.flows for value in (*of, *given))
        parts = union_of(with_parts(value) for value in given if not isinstance(value, Const))
        made = Opaque(name, "call", self.site(node), flows, parts, owner)
        if owner is not None and name in OF_PARSERS:
            self.hear_switch(name, args, kwargs, owner, made)
        return made


_DICTS = re.compile(r"(?:^|\.)\w*(?:[dD]ict|Munch|Box|Namespace)$")


def _same(one: Value | None, other: Value | None) -> bool:
    if isinstance(one, Const) and isinstance(other, Const):
        return type(one.value) is type(other.value) and one.value == other.value
    return one is other


def _is_dict(callee: Value) -> bool:
    """Whether what is called makes a dict of a dict, whatever its items are asked by."""
    if isinstance(callee, Class):
        return any(_DICTS.search(base) for base in callee.cf.bases)
    return isinstance(callee, (Ref, Opaque)) and bool(_DICTS.search(callee.name))
