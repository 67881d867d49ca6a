"""Data that a training loop cuts into batches by slices, `x[i : i + batch_size]`, in the order in which they lie."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Event, Func, Loop, real
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import body_of, written
from torchlint.rules.shared.mixed_once import mixings, one_turn
from torchlint.rules.shared.numbered_files import read_by_number
from torchlint.rules.shared.numbers_in_order import named_range
from torchlint.rules.shared.sample_order import OF_TIME
from torchlint.rules.shared.slices import counted, cut_before, sliced
from torchlint.rules.shared.taken_singly import SELECTION, counts_up, taken_singly, zipped

# Words of what mixes the data, draws from them, or goes through them in an order that means something.
NOT_IN_ORDER = re.compile(
    r"perm|shuf|resampl|sampler|sampling|sampled?\s*\(|\bsample_|choice|rand(?!n\b|n_like|om\.(?:randn|normal)\b)|mix|roll|sort|series"
    r"|seq(?!uential)|window|video|frame|stream|bptt|stock|chunk|replay|memory|buffer|hidden|token|traject|indices",
    re.IGNORECASE,
)


def slices_of(view: View, step: Event) -> tuple[Loop, str, list[Event]] | None:
    """The loop around a step that cuts data into slices, or goes through what was cut, once in each turn of another loop; what is
    cut; and what mixes it before. None where there is none, or something may change the order from turn to turn."""
    for loop, outer, around in once_an_epoch(step):
        within = written(outer.site.parsed, outer.site.node) + _around(loop, outer)
        found = _cut_in(view, loop, within)
        if found is None:
            continue
        cut, text, given = found
        if NOT_IN_ORDER.search(within + text) or any(_assigned(name, within) for name in (cut, *given)):
            return None
        mixed = mixings(view, [(loop.site.parsed.facts, None)], around, within)
        return None if mixed is None else (loop, cut, mixed)
    return None


def singles_of(view: View, step: Event) -> tuple[Loop, str, list[Event]] | None:
    """The loop around a step that takes one sample in each turn by its number, or out of arrays side by side, once in each turn of another loop; what it takes them of;
    and what mixes that before. None where there is none, or something may change the order from turn to turn."""
    for loop, outer, around in once_an_epoch(step):
        if loop is not step.loops[-1] or not isinstance(loop.site.node, cst.For):
            continue
        number = _number(loop.site.parsed, loop.site.node, "")
        data = taken_singly(loop, outer, step, number) if number is not None else zipped(loop, outer, step)
        within = _without_the_numbers(loop, written(outer.site.parsed, outer.site.node)) if data is not None else ""
        if data is None or NOT_IN_ORDER.search(within):
            return None
        mixed = mixings(view, [(loop.site.parsed.facts, None)], around, within)
        return None if mixed is None else (loop, data, mixed)
    return None


def files_of(view: View, step: Event) -> tuple[Loop, str, list[Event]] | None:
    """The innermost loop around a step that reads files by the number of its turn, itself or in a function that it asks by the number,
    once in each turn of another loop; what reads them; and what mixes something before. None as above."""
    for loop, outer, around in once_an_epoch(step):
        if loop is not step.loops[-1] or not isinstance(loop.site.node, cst.For) or not counts_up(loop.site.parsed, loop.site.node.iter):
            continue
        number = _number(loop.site.parsed, loop.site.node, "")
        anew = any(view.made_anew(optimizer, outer) for optimizer in real(step.subject))
        found = _reads(view, loop, number) if number is not None and not anew else None
        within = _without_the_numbers(loop, written(outer.site.parsed, outer.site.node) + _around(loop, outer)) if found is not None else ""
        if found is None or any(order.search(within + found[1]) for order in (NOT_IN_ORDER, OF_TIME)):
            return None
        if SELECTION.search(re.sub(r"\"[^\"\n]*\"|'[^'\n]*'", "", within)):  # `"../models/last.pth"` is where something is saved
            return None
        mixed = mixings(view, [(loop.site.parsed.facts, None)], around, within)
        return None if mixed is None else (loop, found[0], mixed)
    return None


def _reads(view: View, loop: Loop, number: str) -> tuple[str, str] | None:
    """What reads a file by a loop's number, and the text of the function that does it."""
    own = read_by_number(loop.site.parsed, loop.site.node, number)
    if own is not None:
        return own, ""
    for definition, parsed, name, _ in _asked_by(view, loop, number):
        reads = read_by_number(parsed, definition, name)
        if reads is not None and _returns(definition):
            return reads, written(parsed, definition)
    return None


def _without_the_numbers(loop: Loop, text: str) -> str:
    """A text without the name that a loop's numbers have: `indices` says nothing where they are known to be in order."""
    over = loop.site.node.iter
    named = isinstance(over, cst.Name) and named_range(loop.site.parsed, over.value) is not None
    return re.sub(rf"(?<![\w.]){over.value}\b(?!\s*[.\[])", "numbers", text) if named and isinstance(over, cst.Name) else text


def once_an_epoch(step: Event) -> Iterator[tuple[Loop, Loop, tuple[Loop, ...]]]:
    """The loops around a step that others go through again and again, each with the next of these, and all that stand around it."""
    for depth, loop in enumerate(step.loops):
        outer = next((other for other in reversed(step.loops[:depth]) if not one_turn(other)), None)
        if outer is not None and outer.site is not None and loop.site is not None and isinstance(loop.site.node, cst.For | cst.While):
            yield loop, outer, step.loops[:depth]


def _assigned(name: str, text: str) -> bool:
    """Whether a text gives a name something else."""
    given = rf"{re.escape(name)}\s*(?:,[^=\n()]*)?=[^=]"
    return re.search(rf"(?<![\w.]){given}|^[^=\n()]*,\s*{given}", text, re.MULTILINE) is not None


def _cut_in(view: View, loop: Loop, within: str) -> tuple[str, str, list[str]] | None:
    """What is cut into the batches that a loop goes through, the text of what cuts it, where that stands elsewhere, and the names that
    this is given."""
    node = loop.site.node
    if isinstance(node, cst.While):
        cut = next((cut for number in counted(node, within) if (cut := sliced(loop.site.parsed, node, number)) is not None), None)
        return None if cut is None else (cut, "", [])
    number = _number(loop.site.parsed, node, within)
    cut = sliced(loop.site.parsed, node, number) if number is not None else None
    if cut is not None:
        return cut, "", []
    listed = cut_before(loop, number)
    if listed is not None:
        return *listed, []
    return generated(view, loop) if number is None else asked(view, loop, number)


def given_to(view: View, call: Event) -> tuple[Site, str, list[Event]] | None:
    """The loop of a generator that a trainer is given, `model.fit_generator(batches(x, y))`, what it cuts into slices, and what mixes
    that before; None where something may change the order."""
    first = call.site.node.args[0] if isinstance(call.site.node, cst.Call) and call.site.node.args else None
    if first is None or first.star or not isinstance(first.value, cst.Call):
        return None
    found = _yielded(view, call.site.parsed, first.value, forever=True)
    if found is None or NOT_IN_ORDER.search(found[1]):
        return None
    mixed = mixings(view, [(found[2].parsed.facts, None)], None)
    return None if mixed is None else (found[2], found[0], mixed)


def generated(view: View, loop: Loop) -> tuple[str, str, list[str]] | None:
    """What a generator of the project cuts into the slices that it yields, where a loop goes through it; and its text."""
    over = loop.site.node.iter
    while isinstance(over, cst.Call) and isinstance(over.func, cst.Name) and over.func.value in ("enumerate", "tqdm", "list") and over.args:
        over = over.args[0].value
    found = _yielded(view, loop.site.parsed, over) if isinstance(over, cst.Call) else None
    return None if found is None else (found[0], found[1], _given_names(over))


def _yielded(view: View, at: Parsed, call: cst.Call, forever: bool = False) -> tuple[str, str, Site] | None:
    """What a generator cuts into slices, its text, and its loop. One that goes on for ever, pass after pass, counts where that is asked
    for."""
    for definition, parsed in _functions(view, at, call):
        text = written(parsed, definition)
        given = [param.name.value for param in definition.params.params]
        for node in walk(definition.body):
            if isinstance(node, cst.For) and any(isinstance(inner, cst.Yield) for inner in walk(node.body)):
                number = _number(parsed, node, text)
                cut = sliced(parsed, node, number) if number is not None else None
                if cut is not None and _comes_from(cut, given, text) and (forever or not re.search(r"\bwhile\s+(?:True|1)\b", text)):
                    return cut, text, Site(parsed, node)
    return None


def asked(view: View, loop: Loop, number: str) -> tuple[str, str, list[str]] | None:
    """What a function of the project cuts the slice from that it is asked for by a loop's number, `get_batch(i)`; and its text."""
    for definition, parsed, name, call in _asked_by(view, loop, number):
        cut = sliced(parsed, definition, name) if _returns(definition) else None
        if cut is not None:
            return cut, written(parsed, definition), [each for each in _given_names(call) if each != number]
    return None


def _asked_by(view: View, loop: Loop, number: str) -> Iterator[tuple[cst.FunctionDef, Parsed, str, cst.Call]]:
    """The functions of the project that a loop asks by its number, the name that the number has in each, where it stays what it is
    given, and the call."""
    for call in walk(loop.site.node.body):
        if not isinstance(call, cst.Call) or not any(isinstance(arg.value, cst.Name) and arg.value.value == number for arg in call.args):
            continue
        place = next(i for i, arg in enumerate(call.args) if isinstance(arg.value, cst.Name) and arg.value.value == number)
        keyword = call.args[place].keyword
        for definition, parsed in _functions(view, loop.site.parsed, call):
            params = [param.name.value for param in definition.params.params]
            place += params[:1] == ["self"] and isinstance(call.func, cst.Attribute)
            name = keyword.value if keyword is not None else params[place] if place < len(params) else ""
            if name in params and not re.search(rf"^\s*{name}\s*[-+*/%]?=[^=]", written(parsed, definition), re.MULTILINE):
                yield definition, parsed, name, call


def _given_names(call: cst.Call) -> list[str]:
    return [arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)]


def _returns(definition: cst.FunctionDef) -> bool:
    return any(isinstance(node, cst.Return) and node.value is not None for node in walk(definition.body))


def _functions(view: View, at: Parsed, call: cst.Call) -> list[tuple[cst.FunctionDef, Parsed]]:
    """The function of the project that is called by its name, or the one method of the file that is called so on `self`."""
    facts = at.facts
    if isinstance(call.func, cst.Name):
        func = view.run.exported(call.func.value, facts)
        found = view.run.definition(func) if isinstance(func, Func) and func.node is None else (None, None)
        return [] if found[0] is None else [found]
    if not isinstance(call.func, cst.Attribute) or not isinstance(call.func.value, cst.Name) or call.func.value.value != "self":
        return []
    classes = [view.run.exported(name, facts) for name, cf in facts.classes.items() if call.func.attr.value in cf.methods]
    if len(classes) != 1 or not isinstance(classes[0], Class):
        return []
    found = body_of(view, classes[0], call.func.attr.value)
    return [] if found[0] is None else [found]


def _comes_from(name: str, given: list[str], text: str) -> bool:
    """Whether a name is what a function was given, as it is or as an array, or what its object keeps."""
    made = re.findall(rf"^\s*{re.escape(name)}\s*=\s*(.*)$", text, re.MULTILINE)
    kept = name in given or name.startswith("self.")
    return kept and not made or all(re.match(r"(?:np|numpy|torch)\.\w+\(\w+\)\s*$", line) for line in made) and bool(made)


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
    return target.value if ranged or isinstance(node.iter, cst.Name) and named_range(parsed, text) is not None else None


def _around(loop: Loop, outer: Loop) -> str:
    """The function or method that a loop stands in, where the loop around it is in another one."""
    facts, row = loop.site.parsed.facts, loop.site.location().row
    methods = (unit for cf in facts.classes.values() for unit in cf.methods.values())
    unit = next((unit for unit in (*facts.functions.values(), *methods) if unit.start <= row <= unit.end), None)
    if unit is None or outer.site.parsed.facts is facts and unit.start <= outer.site.location().row <= unit.end:
        return ""
    return "".join(line.split("#", 1)[0].rstrip() + "\n" for line in facts.lines[unit.start - 1 : unit.end])
