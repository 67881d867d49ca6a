"""What is cut into slices: by the number of a loop that stands around it, or before, into a list."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Loop

_LISTED = re.compile(
    r"^(?P<name>[A-Za-z_][\w.]*)\s*=\s*(?:list\(|tuple\()?(?:"
    r"(?:torch|np|numpy)\.(?:split|array_split|chunk|tensor_split)\(\s*(?P<of>[\w.]+)"
    r"|(?P<it>[\w.]+)\.(?:split|chunk)\(\s*(?:\w+\.)?\w*(?:batch|bs|size)\w*\s*[,)]"
    r"|\[\s*(?P<list>[\w.]+)\[\s*(?P<i>\w+)(?:\s*\*\s*[\w.]+)?\s*:[^\]\n]*\b(?P=i)\b[^\]\n]*\]\s*for\s+(?P=i)\s+in\s+range\()",
    re.MULTILINE,
)
# Parts that are no batches: each of them belongs to somebody.
_OF_SOMEBODY = re.compile(r"client|worker|user|task|node|device|gpu|shard|fold|agent|split_|thread|process", re.IGNORECASE)


def sliced(parsed: Parsed, node: cst.CSTNode, number: str) -> str | None:
    """The name of what is sliced by a number in a loop or a function: `x` of `x[i : i + 32]`, `x[i * 32 : (i + 1) * 32]`,
    `x[:, i : i + 32]`, or `x[start:end]` where these are made of the number; or of what is gathered by the numbers in between."""
    lows, all_of_it = {number}, {number}
    for name, value in _assigned(node.body):
        if all_of_it & _names(value):
            all_of_it.add(name)
            if _times(value, number):
                lows.add(name)
    for found in walk(node.body):
        if not isinstance(found, cst.Subscript) or not isinstance(found.value, cst.Name | cst.Attribute):
            continue
        cuts = [element.slice for element in found.slice if not _is_whole(element.slice)]
        cut = cuts[0] if len(cuts) == 1 else None
        if not isinstance(cut, cst.Slice) or cut.step is not None or cut.lower is None or cut.upper is None:
            continue
        if any(_times(cut.lower, low) for low in lows) and all_of_it & _names(cut.upper):
            return parsed.text(found.value)
    return _gathered(parsed, node, lows, all_of_it)


_SIZE = re.compile(r"batch|(?<![a-z])bs(?![a-z])|size", re.IGNORECASE)


def _gathered(parsed: Parsed, node: cst.CSTNode, lows: set[str], all_of_it: set[str]) -> str | None:
    """The name of what is gathered into a batch sample by sample: `[x[k] for k in range(i, i + batch_size)]`, or by a loop over these."""
    for target, over, taken in _counting(node.body):
        if not isinstance(target, cst.Name) or not isinstance(over, cst.Call) or not isinstance(over.func, cst.Name) or over.func.value != "range":
            continue
        ends = [arg.value for arg in over.args]
        if len(ends) != 2 or not any(_times(ends[0], low) for low in lows) or not all_of_it & _names(ends[1]) or not _SIZE.search(parsed.text(over)):
            continue
        for found in walk(taken):
            if isinstance(found, cst.Subscript) and isinstance(found.value, cst.Name | cst.Attribute) and len(found.slice) == 1:
                index = found.slice[0].slice
                if isinstance(index, cst.Index) and isinstance(index.value, cst.Name) and index.value.value == target.value:
                    return parsed.text(found.value)
    return None


def _counting(body: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression, cst.CSTNode]]:
    """The targets of the loops and comprehensions in a body, what each goes over, and what it does with that."""
    for found in walk(body):
        if isinstance(found, cst.For):
            yield found.target, found.iter, found.body
        elif isinstance(found, cst.ListComp | cst.GeneratorExp):
            yield found.for_in.target, found.for_in.iter, found.elt


def counted(node: cst.While, around: str) -> Iterator[str]:
    """The names of the numbers that a `while` loop counts up, each time from where the loop around it sets them."""
    for made in walk(node.body):
        if isinstance(made, cst.AugAssign) and isinstance(made.operator, cst.AddAssign) and isinstance(made.target, cst.Name):
            name = made.target.value
            if name in _names(node.test) and re.search(rf"^\s*{name}\s*=\s*0\s*$", around, re.MULTILINE):
                yield name


def cut_before(loop: Loop, number: str | None) -> tuple[str, str] | None:
    """What was cut into the list of batches that a loop goes through, `for batch in batches` or `batches[i]`, and the line that does it,
    where the file has one line of that kind for the name."""
    node, parsed = loop.site.node, loop.site.parsed
    if number is not None:
        asked = [
            parsed.text(found.value)
            for found in walk(node.body)
            if isinstance(found, cst.Subscript) and len(found.slice) == 1 and isinstance(found.slice[0].slice, cst.Index)
            and isinstance(found.slice[0].slice.value, cst.Name) and found.slice[0].slice.value.value == number
        ]
    else:
        asked = re.findall(r"[A-Za-z_][\w.]*", parsed.text(node.iter))
    if not asked:
        return None
    lines = parsed.facts.lines
    for name in dict.fromkeys(asked):
        given = [line.split("#", 1)[0].strip() for line in lines if re.match(rf"\s*{re.escape(name)}\s*(?:,[^=\n]*)?=[^=]", line)]
        made = _LISTED.match(given[0]) if len(given) == 1 else None
        if made is not None and made["name"] == name and not _OF_SOMEBODY.search(given[0]):
            return name, given[0]
    return None


def _assigned(body: cst.CSTNode) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names that are given something in a body, and what each is given: `start, end = i * 32, (i + 1) * 32` gives two."""
    for made in walk(body):
        if not isinstance(made, cst.Assign) or len(made.targets) != 1:
            continue
        target = made.targets[0].target
        if isinstance(target, cst.Name):
            yield target.value, made.value
        elif isinstance(target, cst.Tuple) and isinstance(made.value, cst.Tuple) and len(target.elements) == len(made.value.elements):
            for one, value in zip(target.elements, made.value.elements):
                if isinstance(one.value, cst.Name):
                    yield one.value.value, value.value


def _is_whole(cut: cst.BaseSlice) -> bool:
    """Whether an index of several leaves its dimension as it is: `:` or `...`."""
    if isinstance(cut, cst.Slice):
        return cut.lower is None and cut.upper is None and cut.step is None
    return isinstance(cut, cst.Index) and isinstance(cut.value, cst.Ellipsis)


def _names(node: cst.CSTNode) -> set[str]:
    return {name.value for name in walk(node) if isinstance(name, cst.Name)}


def _times(node: cst.CSTNode, number: str) -> bool:
    """Whether an expression is a loop's number, or that times something, as it is or in `int(...)`."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "int" and len(node.args) == 1:
        node = node.args[0].value
    sides = (node.left, node.right) if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Multiply) else (node,)
    return any(isinstance(side, cst.Name) and side.value == number for side in sides)
