"""Data that were made to evaluate on and that nothing reads, while the evaluation goes over what the model is trained on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Loop, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import created, option
from torchlint.rules.shared.surroundings import bound
from torchlint.sieve.facts import Unit

_HELD_OUT = r"(?:val|vali|valid|validation|dev|test|testing|eval|evaluation)"
_LOADER = re.compile(
    rf"(?:^|_){_HELD_OUT}(?:_?data)?_?(?:loader|dl|iter|iterator|gen|generator|batches)$|^(?:data_?)?(?:loader|dl|iter|iterator)_{_HELD_OUT}$",
    re.IGNORECASE,
)
_SET = re.compile(rf"(?:^|_){_HELD_OUT}_?(?:data_?set|set|ds|data)$|^(?:data_?set|ds|data)_{_HELD_OUT}$", re.IGNORECASE)
# What an evaluation on other data than the training's is called, and what it counts.
_SAYS_SO = re.compile(r"(?:^|_)(?:vali?|valid|validate|validation|test|testing|dev)(?=$|_|\d|[A-Z])|^(?:val|valid|test)(?:acc|loss|error)", re.IGNORECASE)
_TRAINS = re.compile("train|trn", re.IGNORECASE)


@dataclass(slots=True, frozen=True)
class Forgotten:
    """A place that evaluates on the training data, what it goes over, the name that nothing reads and where that is made, or given."""

    site: Site
    over: str
    name: str
    made: Site

    @property
    def given(self) -> bool:
        return isinstance(self.made.node, cst.Param)


def forgotten_loaders(view: View) -> Iterator[Forgotten]:
    """`for x, y in train_loader:` in a validation, where `val_loader` is made and gone through nowhere."""
    told = set()
    for event in view.of("forward"):
        loop = event.loops[-1] if event.loops else None
        if loop is None or loop.site is None or loop.site in told or not isinstance(loop.site.node, cst.For):
            continue
        if event.mode is not False and event.grad is not False or not _learns_from(view, event, loop) or not _is_said(event, loop):
            continue
        for parsed in dict.fromkeys(site.parsed for site in (loop.site, *event.calls) if site is not None):
            found = next(chain(read_nowhere(view, parsed, _LOADER), given_in_vain(parsed, _LOADER)), None)
            if found is not None:
                told.add(loop.site)
                yield Forgotten(loop.site, _name_of(view, loop), *found)
                break


def forgotten_sets(view: View) -> Iterator[Forgotten]:
    """`val_loader = DataLoader(train_set)`, where `val_set` is made and given to nobody."""
    loaders = [loader for _, loader in created(view)]
    for loader in loaders:
        data = real(whole_dataset(option(loader, "dataset")))
        name = loader.name.rpartition(".")[2]
        if loader.site is None or not data or not _LOADER.search(name) or _TRAINS.search(name):
            continue
        same = [
            other for other in loaders
            if other is not loader and real(whole_dataset(option(other, "dataset"))) == data and not _are_two_parts(loader, other, data)
        ]
        if not any(_TRAINS.search(other.name) for other in same):
            continue
        found = next(read_nowhere(view, loader.site.parsed, _SET), None)
        if found is not None and isinstance(data[0], Instance):
            yield Forgotten(loader.site, data[0].name or name, *found)


def _are_two_parts(one: Instance, other: Instance, data: tuple[Value, ...]) -> bool:
    """Whether two loaders go through parts of some data, and not the same: a split of a split gives two, whatever becomes of the rest."""
    of_one, of_other = real(option(one, "dataset")), real(option(other, "dataset"))
    return of_one != of_other and data not in (of_one, of_other)


_SPLITS = re.compile(r"(?:^|\.)(?:train_test_split|random_split)$")
_PART = re.compile(rf"(?:^|_){_HELD_OUT}(?:_|$)|^{_HELD_OUT}", re.IGNORECASE)


def forgotten_parts(view: View) -> Iterator[Forgotten]:
    """`test_set = Faces(train_rows)` beside `train_set = Faces(train_rows)`, where `test_rows` of the same split is read nowhere."""
    for parsed in dict.fromkeys(loader.site.parsed for _, loader in created(view) if loader.site is not None):
        nodes = [node for node in walk(parsed.module) if isinstance(node, cst.Assign) and len(node.targets) == 1]
        given = [node for node in nodes if isinstance(node.value, cst.Call)]
        for split in given:
            if not _SPLITS.search(parsed.text(split.value.func)):
                continue
            names = list(_names(split.targets[0].target))
            forgotten = [name for name in names if _is_held_out(name) and _times(name, scope_text(parsed)) == 1]
            trained = {name for name in names if _TRAINS.search(name)}
            made = [(next(_names(other.targets[0].target), ""), other.value) for other in given if other is not split]
            of_it = [(name, call) for name, call in made if trained & _given_to(call)]
            if forgotten and any(_TRAINS.search(name) for name, _ in of_it):
                for name, call in of_it:
                    if _is_held_out(name) and not any(_is_held_out(other) for other in _given_to(call)):
                        yield Forgotten(Site(parsed, call), min(trained & _given_to(call)), forgotten[0], Site(parsed, split.value))


def _is_held_out(name: str) -> bool:
    return bool(_PART.search(name)) and not _TRAINS.search(name)


def _given_to(call: cst.Call) -> set[str]:
    """The names that the arguments of a call speak of."""
    return {node.value for arg in call.args for node in walk(arg.value) if isinstance(node, cst.Name)}


def read_nowhere(view: View, parsed: Parsed, called: re.Pattern[str]) -> Iterator[tuple[str, Site]]:
    """The names of a function, or of a file outside its functions, that are given something once and never read."""
    for tree in _of_one_scope(view, parsed):
        for node in walk(tree.module):
            if not isinstance(node, cst.Assign) or isinstance(node.value, cst.Name) and node.value.value == "None":
                continue
            for target in node.targets:
                for name in _names(target.target):
                    if called.search(name) and not _TRAINS.search(name) and _times(name, _text_that_may_read(parsed, name)) == 1:
                        yield name, Site(tree, node.value)


def _of_one_scope(view: View, parsed: Parsed) -> Iterator[Parsed]:
    """A function; of a file outside its functions, all statements, which stand in several units."""
    yield parsed
    for item in parsed.facts.body if any(item is parsed.unit for item in parsed.facts.body) else ():
        tree = view.run.world.parse(parsed.facts, item) if isinstance(item, Unit) and item is not parsed.unit else None
        if tree is not None:
            yield tree


def given_in_vain(parsed: Parsed, called: re.Pattern[str]) -> Iterator[tuple[str, Site]]:
    """The parameters of a function that it reads nowhere. What may be left out was perhaps never given."""
    text = scope_text(parsed)
    called_so = parsed.unit.name.rpartition(".")[2]
    for node in walk(parsed.module):
        for param in node.params.params if isinstance(node, cst.FunctionDef) and node.name.value == called_so else ():
            name = param.name.value
            if param.default is None and called.search(name) and not _TRAINS.search(name) and _times(name, text) == 1:
                yield name, Site(parsed, param)


def _times(name: str, text: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(name)}(?!\w)", text))


def _names(target: cst.BaseExpression) -> Iterator[str]:
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _names(element.value)


def scope_text(parsed: Parsed) -> str:
    """The text in which a name of a unit may be read, without comments: the function's own, or all of the file."""
    unit, facts = parsed.unit, parsed.facts
    inside = unit in facts.functions.values() or any(unit in cls.methods.values() for cls in facts.all_classes())
    return _code(facts.lines[unit.start - 1 : unit.end] if inside else facts.lines)


def _code(lines: list[str]) -> str:
    return "".join(line.split("#", 1)[0].rstrip("\n") + "\n" for line in lines)


def _text_that_may_read(parsed: Parsed, name: str) -> str:
    """The same, without the functions of the file that have this name for something of their own."""
    text = scope_text(parsed)
    own = re.compile(rf"(?m)^[ \t]+(?:\w+\s*,\s*)*{re.escape(name)}\s*(?:,\s*\w+\s*)*=(?!=)|^def \w+\([^)]*\b{re.escape(name)}\b")
    for unit in () if parsed.unit in parsed.facts.functions.values() else parsed.facts.functions.values():
        inside = _code(parsed.facts.lines[unit.start - 1 : unit.end])
        if own.search(inside) and f"global {name}" not in inside:
            text = text.replace(inside, "", 1)
    return text


def _learns_from(view: View, event: Event, loop: Loop) -> bool:
    """Whether the model learns in another loop from what this one goes over."""
    over = _gone_over(view, loop)
    return bool(over) and any(
        other.site != loop.site and _gone_over(view, other) == over
        for step in view.of("backward") if any(flow.kind == "forward" and flow.subject is event.subject for flow in step.flows)
        for other in step.loops
    )


def _gone_over(view: View, loop: Loop) -> tuple[Value, ...]:
    return real(view.run.iterated(loop.over)) if loop.over is not None else ()


def _is_said(event: Event, loop: Loop) -> bool:
    """Whether what is counted in the loop, or what its function gives, is called a validation's or a test's, and nothing a training's."""
    names = bound(loop.site.node)
    for site in event.calls:
        statement = next((node for node in site.parsed.around(site.node) if isinstance(node, cst.Assign)), None) if site is not None else None
        names |= bound(statement) if statement is not None else set()
    if any(_TRAINS.search(name) for name in names):
        return False
    return any(map(_SAYS_SO.search, names)) or bool(_SAYS_SO.search(loop.site.parsed.unit.name))


def _name_of(view: View, loop: Loop) -> str:
    over = _gone_over(view, loop)[0]
    return getattr(over, "name", "") or loop.site.parsed.text(loop.site.node.iter)
