"""Losses that are asked for their first item: until 0.4 a loss was a tensor of one item, and now it is a number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import View
from torchlint.sieve.facts import Unit

# How a number was read out: what lies between the loss and its first item.
_BETWEEN = r"(?:\.data|\.(?:detach|cpu|numpy|tolist)\(\))"
_ASKED = re.compile(rf"\w{_BETWEEN}*\[0\]")
_READ_OUT = re.compile(rf"{_BETWEEN}+$")


def first_items(view: View) -> Iterator[tuple[Site, str, str]]:
    """`loss.data[0]` or `loss[0]` in a function that calls `loss.backward()`, or `(loss + other).backward()`, without a gradient: the
    first place, its text, and that of the loss."""
    looked_at, told = set(), set()
    asks: dict[Unit, bool] = {}
    for event in view.of("backward"):
        node = event.site.node if event.site is not None else None
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or _has_gradient(event, node):
            continue
        parsed = event.site.parsed
        if parsed.unit not in asks:
            asks[parsed.unit] = any(map(_ASKED.search, parsed.facts.lines[parsed.unit.start - 1 : parsed.unit.end]))
        if not asks[parsed.unit]:
            continue
        whole = parsed.text(node.func.value)
        for loss in (whole, *_added_up(parsed, whole)):
            if (parsed.unit, loss) in looked_at:
                continue
            looked_at.add((parsed.unit, loss))
            found = next((part for part in walk(parsed.module) if isinstance(part, cst.Subscript) and _asks(parsed, part, loss)), None)
            if found is not None and (loss == whole and _is_loss(event) or _is_number(parsed, loss)):
                told.add((parsed.unit, loss))
                yield Site(parsed, found), parsed.text(found), loss
    yield from _asked_anywhere(view, told)


def _asks(parsed: Parsed, part: cst.Subscript, loss: str) -> bool:
    """Whether a loss is asked for its first item, as it is or read out: `loss[0]`, `loss.data.cpu().numpy()[0]`."""
    text = parsed.text(part)
    return text.startswith(loss) and text.endswith("[0]") and _READ_OUT.sub("", text[:-3]) == loss


def _asked_anywhere(view: View, told: set) -> Iterator[tuple[Site, str, str]]:
    """`F.nll_loss(output, target).data[0]` and, of a loss function by whatever name, `loss.data[0]`, where nothing goes backward."""
    for event in view.of("first"):
        parsed, node = event.site.parsed, event.site.node
        if not isinstance(node, cst.Subscript):
            continue
        loss = _READ_OUT.sub("", parsed.text(node.value))
        if (parsed.unit, loss) in told:
            continue
        lines = parsed.facts.lines
        sure = event.known and not any(map(_SPREAD.search, lines)) or _is_sum(parsed, loss)
        called = _is_called(parsed, node, loss) or _NAMED.search(loss) and _is_number(parsed, loss)
        if sure or called and not any(map(_ITEMWISE.search, lines)):
            told.add((parsed.unit, loss))
            yield event.site, parsed.text(node), loss


# A loss function over several devices gives one number for each, and some give one for each item.
_SPREAD = re.compile(r"DataParallel\(\s*\w*(?:loss|crit)", re.I)
_ITEMWISE = re.compile(r"DataParallel|[\"']none[\"']|reduce\s*=\s*False|\.(?:view|expand|unsqueeze)\(.*loss|loss\w*\.(?:view|expand|unsqueeze)\(", re.I)
_NAMED = re.compile(r"loss|cost|(?:^|_)err", re.I)
_FUNCTION = re.compile(r"(?:self\.)?(?:criterion|loss_f(?:n|unc|unction))", re.I)


def _is_called(parsed: Parsed, asked: cst.Subscript, loss: str) -> bool:
    """Whether a loss comes straight from a function that the program was given: `criterion(output, target)`."""
    call = next(part for part in walk(asked.value) if parsed.text(part) == loss)
    return isinstance(call, cst.Call) and len(call.args) > 1 and _FUNCTION.fullmatch(parsed.text(call.func)) is not None


# The sum, or another number, of a whole tensor.
_OF_ALL = re.compile(r"\.(?:sum|mean|prod|norm|max|min|std|var|median)\(\)$|\btorch\.(?:sum|mean|prod|norm)\([^,]*\)$")


def _is_sum(parsed: Parsed, text: str) -> bool:
    """`(guess == target).sum()`, or a name that is given nothing else: that has no items, whatever it is the sum of."""
    if _OF_ALL.search(text):
        return True
    nodes = [node for node in walk(parsed.module) if isinstance(node, (cst.Assign, cst.AugAssign, cst.For, cst.CompFor))]
    given = [node.iter if isinstance(node, (cst.For, cst.CompFor)) else node.value for node in nodes if text in _targets(parsed, node)]
    texts = [each for each in map(parsed.text, given) if not _ZERO.match(each)]
    return text not in parsed.unit.params and bool(texts) and all(map(_OF_ALL.search, texts))


def _targets(parsed: Parsed, node: cst.Assign | cst.AugAssign | cst.For | cst.CompFor) -> list[str]:
    """What is given a value: each name of `a, b = ...`."""
    targets = [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
    parts = [part for target in targets for part in ([one.value for one in target.elements] if isinstance(target, (cst.Tuple, cst.List)) else [target])]
    return [parsed.text(part) for part in parts]


def _is_loss(event: Event) -> bool:
    """Whether a backward begins at what a loss function of torch's gives, whatever the program calls that."""
    return bool(real(event.subject)) and all(isinstance(alt, Tensor) and alt.traits.get("loss") for alt in real(event.subject))


def _added_up(parsed: Parsed, whole: str) -> Iterator[str]:
    """The names of the losses of which another is the sum: `total = content + style`."""
    for node in walk(parsed.module):
        if isinstance(node, cst.Assign) and any(parsed.text(target.target) == whole for target in node.targets):
            todo = [node.value]
            while todo:
                value = todo.pop()
                if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
                    todo += (value.left, value.right)
                elif isinstance(value, (cst.Name, cst.Attribute)) and parsed.text(value) != whole:
                    yield parsed.text(value)


# What gives a number; not the built-in `sum`, which keeps the shape of what it adds up.
_NUMBER = re.compile(r"(?i:loss|crit|objective|entropy|nll|mse|bce|error)\w*\(|\.(?:mean|sum)\(\)|torch\.(?:mean|sum)\(")
_ZERO = re.compile(r"0(?:\.0*)?$")
_WEIGHT = re.compile(r"[\w.]+$")


def _is_number(parsed: Parsed, loss: str, depth: int = 2) -> bool:
    """Whether all that is assigned to a name, or added to it, comes out of a loss function, or of a mean or a sum."""
    numbers = 0
    for node in walk(parsed.module):
        if isinstance(node, cst.Assign) and any(parsed.text(target.target) == loss for target in node.targets):
            text = parsed.text(node.value)
            if _ZERO.match(text):
                continue
        elif isinstance(node, cst.AugAssign) and parsed.text(node.target) == loss:
            text = parsed.text(node.value)
            if not isinstance(node.operator, cst.AddAssign) and _WEIGHT.match(text):
                continue
        else:
            continue
        if re.match(r"sum\(", text) or not _NUMBER.search(text) and not (depth and _is_sum_of_numbers(parsed, node.value, depth - 1)):
            return False
        numbers += 1
    return numbers > 0


def _is_sum_of_numbers(parsed: Parsed, value: cst.BaseExpression, depth: int) -> bool:
    """`content + 0.1 * style`, where each is a number."""
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        return all(_is_sum_of_numbers(parsed, side, depth) for side in (value.left, value.right))
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, (cst.Multiply, cst.Divide)):
        return isinstance(value.left, (cst.Integer, cst.Float)) and _is_sum_of_numbers(parsed, value.right, depth)
    return isinstance(value, cst.Name) and _is_number(parsed, value.value, depth)


def _has_gradient(event: Event, node: cst.Call) -> bool:
    return any(arg.keyword is None or arg.keyword.value in ("gradient", "grad_tensors") for arg in node.args)
