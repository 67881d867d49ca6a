"""Data whose samples a training loop takes by their number, one a turn, `x[i]`, in the order in which they lie."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Loop
from torchlint.rules.shared.loaders import written
from torchlint.rules.shared.numbers_in_order import range_of
from torchlint.rules.shared.sample_order import OF_TIME

# What reads an array, or makes one of what was read. What is written down, drawn or counted is a toy of a few samples.
_ARRAY = re.compile(
    r"(?:Variable\()?(?:torch|np|numpy)\.(?:\w*Tensor|tensor|as_tensor|from_numpy|array|asarray|load|loadtxt|genfromtxt|stack|vstack|cat"
    r"|concatenate)\(\s*\(?[A-Za-z_\"']"
    r"|(?:torchvision\.)?(?:datasets|dsets?)\.[A-Z]\w*\(\s*(?!.*\b(?:FakeData|UCF101|HMDB51|Kinetics))"
)
# What gives data that it has read.
_READ = re.compile(
    r"(?:[\w.]+\.)?_?(?:load|read|get|import|prepare|fetch)_?(?:the_|all_)?\w*(?:data|set|file|samples?|csv|images?|corpus|docs?)\w*\(", re.IGNORECASE
)
_A_TOY = re.compile(r"\brand|arange|linspace|zeros|ones|range\(|make_\w+\(")
_RECURRENT = re.compile(r"\b(?:LSTM|GRU|RNN)(?:Cell)?\w*\(|\bhidden\b|\bpredict_next", re.IGNORECASE)
_FEW = 64
# An order that may be meant, and numbers that are not those of samples.
SELECTION = re.compile(
    r"\b(?:argsort|sorted|difficult|easy|hard|agents?|tasks?|clients?|models|folds?|kfold|layers?|phases?|dates?)\b", re.IGNORECASE
)


def taken_singly(loop: Loop, outer: Loop, step: Event, number: str) -> str | None:
    """The name of the array or data set that the innermost loop takes one sample of in each turn; None where what it is is not seen, or
    a step may come of all turns together."""
    node, parsed = loop.site.node, loop.site.parsed
    if outer.site.parsed is not parsed or step.site.parsed is not parsed or not counts_up(parsed, node.iter):
        return None
    if SELECTION.search(written(parsed, outer.site.node)) or _of_order(parsed) or _under_the_number(parsed, node, number) or _anew(parsed, outer.site.node, step):
        return None
    bound = set(_bound(parsed, outer.site.node))
    for name in _asked(parsed, node, number):
        if name not in bound and _used_as_data(parsed, node, name, number):
            if _is_array(parsed, name) or _made_a_tensor(parsed, node, name, number) and _is_read(parsed, name):
                return name
    return None


def zipped(loop: Loop, outer: Loop, step: Event) -> str | None:
    """The name of the first of the arrays that the innermost loop goes through side by side, `for x, y in zip(images, labels)`; None as above."""
    node, parsed = loop.site.node, loop.site.parsed
    if outer.site.parsed is not parsed or step.site.parsed is not parsed or SELECTION.search(written(parsed, outer.site.node)):
        return None
    names, bound = _side_by_side(node.iter), set(_bound(parsed, outer.site.node))
    if not names or _of_order(parsed) or _anew(parsed, outer.site.node, step) or any(name in bound or not _is_array(parsed, name) for name in names):
        return None
    number = _counter(node)
    return None if number is not None and _under_the_number(parsed, node, number) else names[0]


def _side_by_side(over: cst.BaseExpression) -> list[str]:
    """The names in `zip(x, y)`, `enumerate(tqdm(zip(x, y)))`; none where something else is in it."""
    while isinstance(over, cst.Call) and isinstance(over.func, cst.Name) and over.args and over.func.value != "zip":
        if over.func.value not in ("enumerate", "tqdm", "list"):
            return []
        over = over.args[0].value
    if not isinstance(over, cst.Call) or not isinstance(over.func, cst.Name) or len(over.args) < 2:
        return []
    names = [arg.value.value for arg in over.args if isinstance(arg.value, cst.Name) and not arg.star]
    return names if len(names) == len(over.args) else []


def _counter(node: cst.For) -> str | None:
    """The number of `for i, (x, y) in enumerate(...)`."""
    first = node.target.elements[0].value if isinstance(node.target, cst.Tuple) else None
    counted = isinstance(node.iter, cst.Call) and isinstance(node.iter.func, cst.Name) and node.iter.func.value == "enumerate"
    return first.value if counted and isinstance(first, cst.Name) else None


def _of_order(parsed: Parsed) -> bool:
    """Whether a file speaks of sequences, or of an order of time."""
    text = "".join(line.split("#", 1)[0] for line in parsed.facts.lines).replace("Sequential", "")
    return bool(_RECURRENT.search(text) or OF_TIME.search(text))


def _anew(parsed: Parsed, outer: cst.CSTNode, step: Event) -> bool:
    """Whether the optimizer is made in the outer loop: its turns are no epochs, each trains something else."""
    made = getattr(step.subject, "site", None)
    place = parsed.location(outer)
    return made is None or made.parsed is parsed and place.row <= made.location().row <= (place.end_row or place.row)


def counts_up(parsed: Parsed, over: cst.BaseExpression) -> bool:
    """Whether a loop goes over all numbers up to one, which is not known to be small."""
    found = re.fullmatch(r"(?:tqdm(?:\.tqdm|\.trange)?\()?(?:range|trange)\((?:\s*0\s*,)?([^,]*)\)?\)", range_of(parsed, over))
    return found is not None and not (found[1].strip().isdigit() and int(found[1]) <= _FEW)


def _asked(parsed: Parsed, node: cst.For, number: str) -> Iterator[str]:
    """What is asked for its element by the number, as it is: `x` of `x[i]` and `x[i, :]`."""
    for found in walk(node.body):
        if not isinstance(found, cst.Subscript) or not isinstance(found.value, cst.Name | cst.Attribute) or not found.slice:
            continue
        first = found.slice[0].slice
        if isinstance(first, cst.Index) and isinstance(first.value, cst.Name) and first.value.value == number:
            yield parsed.text(found.value)


def _used_as_data(parsed: Parsed, node: cst.For, name: str, number: str) -> bool:
    """Whether nothing is called on an element, or written to it, that a sample has not."""
    element = rf"(?<![\w.]){re.escape(name)}\[\s*{number}\s*\]"
    return not re.search(rf"{element}\s*(?:\(|\.(?:step|zero_grad|parameters|train|eval|backward)\b|[-+*/]?=[^=])", written(parsed, node))


def _under_the_number(parsed: Parsed, node: cst.For, number: str) -> bool:
    """Whether a condition in the loop asks for the number, other than to tell how far it is: a step may come of all turns."""
    asked = [each for each in walk(node.body) if isinstance(each, cst.If) and re.search(rf"\b{number}\b", parsed.text(each.test))]
    return any(".step(" in parsed.text(each.body) or _leaves(each) for each in asked)


def _leaves(branch: cst.If) -> bool:
    return any(isinstance(each, cst.Continue | cst.Break) for each in walk(branch.body))


def _bound(parsed: Parsed, node: cst.CSTNode) -> Iterator[str]:
    """The names that a loop or what stands in it gives something."""
    for each in walk(node):
        targets = (
            [target.target for target in each.targets] if isinstance(each, cst.Assign)
            else [each.target] if isinstance(each, cst.For | cst.AugAssign | cst.AnnAssign | cst.NamedExpr)
            else []
        )
        for target in targets:
            yield from (parsed.text(one.value) for one in target.elements) if isinstance(target, cst.Tuple) else (parsed.text(target),)


def _is_array(parsed: Parsed, name: str) -> bool:
    """Whether the last line of the file that gives a name something makes an array of what was read, or a data set of torchvision."""
    given = [line.split("#", 1)[0].strip() for line in parsed.facts.lines if re.match(rf"\s*{re.escape(name)}\s*=[^=]", line)]
    return bool(given) and not any(_A_TOY.search(line) for line in given) and bool(_ARRAY.match(given[-1].partition("=")[2].strip()))


def _made_a_tensor(parsed: Parsed, node: cst.For, name: str, number: str) -> bool:
    """Whether a loop makes a tensor of each element by its number: `torch.FloatTensor(y[i])`."""
    element = rf"{re.escape(name)}\[\s*{number}\s*\]"
    return re.search(rf"\btorch\.(?:\w*Tensor|tensor|as_tensor|from_numpy)\(\s*\[?\s*{element}", written(parsed, node)) is not None


def _is_read(parsed: Parsed, name: str) -> bool:
    """Whether all that a file gives a name is what a function gave that reads data, on its own or among others:
    `x, y, labels = load_data(path)`."""
    given = [line.split("#", 1)[0] for line in parsed.facts.lines if re.match(rf"\s*(?:\w+\s*,\s*)*{re.escape(name)}\s*(?:,[\s\w,]*)?=[^=]", line)]
    return len(given) == 1 and _READ.match(given[0].partition("=")[2].strip()) is not None
