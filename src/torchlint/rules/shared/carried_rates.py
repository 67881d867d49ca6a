"""Rates that a training keeps for itself and multiplies on or lowers step by step, which begin anew where the optimizer goes on at a later one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.values import Event, Loop
from torchlint.rules.base import View
from torchlint.rules.mends.rows import tree_of
from torchlint.rules.shared.blocks import heads_of
from torchlint.rules.shared.checkpoints import files_of
from torchlint.rules.shared.counted_loops import counts_from_the_first
from torchlint.rules.shared.counted_rates import RATE_OF_A_GROUP, nodes_of
from torchlint.rules.shared.handed_over import handed_over
from torchlint.rules.shared.kept_schedules import resumed_optimizers
from torchlint.sieve.facts import FileFacts

_OPTION = re.compile(
    r"(?:float\()?(?:\w+\.)*(?:args|opts?|options|flags|config|cfg|conf|hparams|hps?)(?:\.\w+|\[['\"][\w.]+['\"]\])+\)?$", re.IGNORECASE
)
_CONSTANT = re.compile(r"[A-Z][A-Z\d_]*$")
# What asks how far the training is, or reads what it was.
_GOES_ON = re.compile(r"resum|epoch|start|checkpoint|ckpt|restor|load|gamma|decay|param_groups|\*\*", re.IGNORECASE)
_READ = re.compile(r"torch\.load|checkpoint|ckpt|pickle|restor|resum", re.IGNORECASE)


class Rate(NamedTuple):
    """A rate by its name, where the training multiplies it on, and what it is before."""

    name: str
    decayed: Site
    first: str


def carried(view: View) -> Iterator[tuple[Event, Rate]]:
    """Where the state of an optimizer is loaded that a training goes on from, and the rate that is set in it later and comes of no file."""
    for load, _, steps in resumed_optimizers(view):
        trainings = {id(step.loops[0]) for step in steps}
        given = [event for event in view.of("item.set") if event.serial > load.serial and _is_of_a_group(event)]
        if any(not event.loops or id(event.loops[0]) not in trainings for event in given):
            continue  # the rate is put to something before the training, too
        for event in given:
            rate = _carried_through(view, load, event)
            if rate is not None:
                yield load, rate


def _is_of_a_group(event: Event) -> bool:
    node = event.site.node
    return isinstance(node, cst.Assign) and len(node.targets) == 1 and bool(RATE_OF_A_GROUP.search(event.site.parsed.text(node.targets[0].target)))


def _carried_through(view: View, load: Event, given: Event) -> Rate | None:
    parsed, training = given.site.parsed, given.loops[0]
    name = parsed.text(given.site.node.value)
    decayed = next((node for node in nodes_of(parsed) if _multiplies_on(parsed, node, name)), None)
    if decayed is None or training.site is None or counts_from_the_first(training):
        return None  # the whole schedule is gone through again
    kept = _kept_as(given, name, training)
    if kept is None:
        return None
    kept_name, place = kept
    first = _Beginnings(view, load, kept_name, place, training, parsed).first()
    return None if first is None else Rate(kept_name, Site(parsed, decayed), first)


def _multiplies_on(parsed: Parsed, node: cst.CSTNode, name: str) -> bool:
    """`lr *= 0.1`, `lr = lr / 10`; or `lr -= step`."""
    if isinstance(node, cst.AugAssign):
        return isinstance(node.operator, (cst.MultiplyAssign, cst.DivideAssign, cst.SubtractAssign)) and parsed.text(node.target) == name
    if not isinstance(node, cst.Assign) or len(node.targets) != 1 or parsed.text(node.targets[0].target) != name:
        return False
    value = node.value
    return isinstance(value, cst.BinaryOperation) and isinstance(value.operator, (cst.Multiply, cst.Divide, cst.Subtract)) and parsed.text(value.left) == name


def _kept_as(given: Event, name: str, training: Loop) -> tuple[str, Parsed] | None:
    """What a rate is called where it is kept from epoch to epoch, and in which unit."""
    parsed = given.site.parsed
    if not name.isidentifier() or parsed.unit is training.site.parsed.unit or not _is_local(parsed, name):
        return name, parsed
    call = given.calls[-1] if given.calls else None
    if call is None or call.parsed.unit is not training.site.parsed.unit or name not in parsed.unit.params or not _returns(parsed, name):
        return None
    handed = handed_over(call, parsed.unit.params).get(name)
    taken = [call.parsed.text(node.targets[0].target) for node in nodes_of(call.parsed) if isinstance(node, cst.Assign) and node.value is call.node]
    return (handed, call.parsed) if handed is not None and taken == [handed] else None


def _is_local(parsed: Parsed, name: str) -> bool:
    if any(unit is parsed.unit for unit in parsed.facts.body):
        return False
    declared = (item.name.value for node in nodes_of(parsed) if isinstance(node, cst.Global) for item in node.names)
    return name not in declared


def _returns(parsed: Parsed, name: str) -> bool:
    returned = [node.value for node in nodes_of(parsed) if isinstance(node, cst.Return)]
    return bool(returned) and all(value is not None and parsed.text(value) == name for value in returned)


class _Beginnings:
    """What a rate is set to, wherever that is done."""

    def __init__(self, view: View, load: Event, name: str, place: Parsed, training: Loop, decaying: Parsed):
        self._name, self._place = name, place
        self._root = re.split(r"[.\[]", name, maxsplit=1)[0]
        self._files = [place.facts] if name.isidentifier() else files_of(view, load)
        span = training.site.location()
        self._training = training.site.parsed.facts, span.row, span.end_row or span.row
        self._decaying = decaying

    def first(self) -> str | None:
        """What it begins at, if that is an option or a number, and nothing but the training sets it again."""
        begun = [] if self._name.isidentifier() or self._root == "self" else ["what was asked for"]
        for facts in self._files:
            if not self._name.isidentifier() and self._is_filled(facts):
                return None
            for row, target, value in _set_in(facts):
                if not self._is_meant(facts, row, target):
                    if target == self._root != self._name and not _is_made(value):
                        return None
                elif self._is_trained(facts, row):
                    if not _is_on(target, value) and not _is_handed(target, value):
                        return None
                elif not self._begins(facts, row, target, value):
                    return None
                elif not _is_on(target, value):
                    begun.append(f"`{ast.unparse(value)}`")
        return begun[-1] if begun else None

    def _is_filled(self, facts: FileFacts) -> bool:
        """Whether an object is given its attributes by what they are called."""
        root = re.escape(self._root)
        filled = re.compile(rf"\b{root}\.(?:update\(|__dict__)|\bsetattr\(\s*{root}\b|\bvars\(\s*{root}\s*\)[.\[]|namespace\s*=\s*{root}\b")
        return any(filled.search(line.split("#", 1)[0]) for line in facts.lines)

    def _is_meant(self, facts: FileFacts, row: int, target: str) -> bool:
        if self._name.isidentifier():
            return target == self._name and self._is_in_scope(facts, row)
        last = self._name.rpartition(".")[2]
        return target == self._name.replace('"', "'") or self._name.endswith(f".{last}") and target.endswith(f".{last}")

    def _is_in_scope(self, facts: FileFacts, row: int) -> bool:
        unit = self._place.unit
        if _is_local(self._place, self._name):
            return unit.start <= row <= unit.end
        around = next((function for function in facts.functions.values() if function.start <= row <= function.end), None)
        words = re.compile(rf"\s*global\b.*\b{re.escape(self._name)}\b")
        return around is None or any(words.match(line) for line in facts.lines[around.start - 1 : around.end])

    def _is_trained(self, facts: FileFacts, row: int) -> bool:
        of, first, last = self._training
        unit = self._decaying.unit
        inner = not unit.start <= first <= unit.end or facts is not of
        return facts is of and first <= row <= last or facts is self._decaying.facts and inner and unit.start <= row <= unit.end

    def _begins(self, facts: FileFacts, row: int, target: str, value: ast.expr | None) -> bool:
        heads = [head for head in heads_of(facts.lines, row) if not re.match(r"\s*(?:async\s+)?(?:def|class)\b", head)]
        if value is None or any(map(_GOES_ON.search, (ast.unparse(value), *heads))):
            return False
        if _is_on(target, value):  # by the size of a batch, or the number of devices
            return not any(re.match(r"\s*(?:for|while)\b", head) for head in heads)
        return isinstance(value, ast.Constant) or any(known.match(ast.unparse(value)) for known in (_OPTION, _CONSTANT))


def _set_in(facts: FileFacts) -> Iterator[tuple[int, str, ast.expr | None]]:
    """The rows of a file that set something, what, and what to; None where that is not one value."""
    for node in ast.walk(tree_of("".join(facts.lines))):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _parts(target, node.value)
        elif isinstance(node, ast.AugAssign):
            yield node.lineno, ast.unparse(node.target), ast.BinOp(node.target, node.op, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            yield node.lineno, ast.unparse(node.target), node.value
        elif isinstance(node, ast.For):
            yield from _parts(node.target, None)


def _parts(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[int, str, ast.expr | None]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target.lineno, ast.unparse(target), value
        return
    values = value.elts if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts) else [None] * len(target.elts)
    for part, own in zip(target.elts, values, strict=True):
        yield from _parts(part, own)


def _is_on(target: str, value: ast.expr | None) -> bool:
    """Whether something is made of what it was."""
    return isinstance(value, ast.BinOp) and ast.unparse(value).startswith(target)


def _is_handed(target: str, value: ast.expr | None) -> bool:
    """`lr = adjust(optimizer, epoch, lr)`"""
    return isinstance(value, ast.Call) and target in map(ast.unparse, (*value.args, *(keyword.value for keyword in value.keywords)))


def _is_made(value: ast.expr | None) -> bool:
    """Whether an object of options is made anew, and of no file of the training."""
    return isinstance(value, (ast.Call, ast.Dict, ast.DictComp)) and not _READ.search(ast.unparse(value))
