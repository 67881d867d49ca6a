"""Data that a training loop cuts into batches by slices, `x[i : i + batch_size]`, in the order in which they lie."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Func, Loop
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import written
from torchlint.rules.shared.sample_order import mixed_in_file

# Words of what mixes the data, draws from them, or goes through them in an order that means something.
_NOT_IN_ORDER = re.compile(
    r"perm|shuf|sampl|choice|rand|mix|roll|sort|series|seq|window|video|frame|stream|bptt|stock|chunk|replay|memory|buffer|hidden|token|traject|indices",
    re.IGNORECASE,
)


def slices_of(view: View, step: Event) -> tuple[Loop, str] | None:
    """The loop around a step that cuts data into slices, or goes through a generator that does, once in each turn of another loop,
    and what is cut; None where there is none, or something may change their order."""
    for depth, loop in enumerate(step.loops):
        outer = next((other for other in reversed(step.loops[:depth]) if not other.once), None)
        if outer is None or outer.site is None or loop.site is None or not isinstance(loop.site.node, cst.For):
            continue
        within = written(outer.site.parsed, outer.site.node) + _around(loop, outer)
        cut = _cut(loop.site.parsed, loop.site.node, within)
        if cut is None and (made := _generator(view, loop)) is not None:
            cut, text = made
            return None if _NOT_IN_ORDER.search(within + text) or mixed_in_file(loop.site) else (loop, cut)
        if cut is None:
            continue
        assigned = re.search(rf"(?<![\w.]){re.escape(cut)}\s*(?:,[^=\n]*)?=[^=]", within)
        return None if assigned or _NOT_IN_ORDER.search(within) or mixed_in_file(loop.site) else (loop, cut)
    return None


def _generator(view: View, loop: Loop) -> tuple[str, str] | None:
    """What a generator of the project cuts into the slices that it yields, where a loop goes through it; and its text."""
    over = loop.site.node.iter
    while isinstance(over, cst.Call) and isinstance(over.func, cst.Name) and over.func.value in ("enumerate", "tqdm", "list") and over.args:
        over = over.args[0].value
    if not isinstance(over, cst.Call) or not isinstance(over.func, cst.Name) or not over.args:
        return None
    func = view.run.exported(over.func.value, loop.site.parsed.facts)
    definition, parsed = view.run.definition(func) if isinstance(func, Func) and func.node is None else (None, None)
    if definition is None:
        return None
    text = written(parsed, definition)
    given = [param.name.value for param in definition.params.params]
    for node in walk(definition.body):
        if isinstance(node, cst.For) and any(isinstance(inner, cst.Yield) for inner in walk(node.body)):
            cut = _cut(parsed, node, text)
            if cut is not None and _comes_from(cut, given, text) and not re.search(r"\bwhile\s+True\b|\bwhile\s+1\b", text):
                return cut, text
    return None


def _comes_from(name: str, given: list[str], text: str) -> bool:
    """Whether a name is what a function was given, as it is or as an array."""
    made = re.findall(rf"^\s*{re.escape(name)}\s*=\s*(.*)$", text, re.MULTILINE)
    return name in given and not made or all(re.match(r"(?:np|numpy|torch)\.\w+\(\w+\)\s*$", line) for line in made) and bool(made)


def _cut(parsed: Parsed, node: cst.For, around: str) -> str | None:
    """The name of what a loop over a range slices by its number: `x` of `x[i : i + 32]`, `x[i * 32 : (i + 1) * 32]`, or
    `x[start:end]` where these are made of the number."""
    number = _number(parsed, node, around)
    if number is None:
        return None
    lows, all_of_it = {number}, {number}
    for made in walk(node.body):
        if isinstance(made, cst.Assign) and len(made.targets) == 1 and isinstance(made.targets[0].target, cst.Name):
            if all_of_it & _names(made.value):
                name = made.targets[0].target.value
                all_of_it.add(name)
                if any(_times(made.value, low) for low in (number,)):
                    lows.add(name)
    for found in walk(node.body):
        if not isinstance(found, cst.Subscript) or not isinstance(found.value, cst.Name | cst.Attribute) or not found.slice:
            continue
        cut = found.slice[0].slice
        if not isinstance(cut, cst.Slice) or cut.step is not None or cut.lower is None or cut.upper is None:
            continue
        if any(_times(cut.lower, low) for low in lows) and all_of_it & _names(cut.upper):
            return parsed.text(found.value)
    return None


def _number(parsed: Parsed, node: cst.For, around: str) -> str | None:
    """The name of a loop's number, where it goes over a range: `for i in tqdm(range(0, n, 32))`, `for k, i in enumerate(bar)`."""
    text, target = parsed.text(node.iter), node.target
    if re.match(r"enumerate\(", text) and isinstance(target, cst.Tuple) and len(target.elements) == 2:
        target, text = target.elements[1].value, text[len("enumerate(") :]
    if not isinstance(target, cst.Name):
        return None
    if "range(" in text:
        return target.value
    name = re.match(r"[A-Za-z_]\w*(?=\)?$)", text)
    ranged = name is not None and re.search(rf"(?<![\w.]){name[0]}\s*=\s*(?:[\w.]+\()?range\(", around)
    return target.value if ranged else None


def _names(node: cst.CSTNode) -> set[str]:
    return {name.value for name in walk(node) if isinstance(name, cst.Name)}


def _times(node: cst.CSTNode, number: str) -> bool:
    """Whether an expression is a loop's number, or that times something."""
    sides = (node.left, node.right) if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply) else (node,)
    return any(isinstance(side, cst.Name) and side.value == number for side in sides)


def _around(loop: Loop, outer: Loop) -> str:
    """The function or method that a loop stands in, where the loop around it is in another one."""
    facts, row = loop.site.parsed.facts, loop.site.location().row
    methods = (unit for cf in facts.classes.values() for unit in cf.methods.values())
    unit = next((unit for unit in (*facts.functions.values(), *methods) if unit.start <= row <= unit.end), None)
    if unit is None or outer.site.parsed.facts is facts and unit.start <= outer.site.location().row <= unit.end:
        return ""
    return "".join(line.split("#", 1)[0].rstrip() + "\n" for line in facts.lines[unit.start - 1 : unit.end])
