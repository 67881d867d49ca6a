"""What a loop over numbers counts from, and whether it has a turn at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Loop


_MADE_OF = re.compile(r"(?:int\(\s*)?([A-Za-z_][\w.]*)\s*\)?\s*(?:[-+]\s*\d+)?")
_COUNT = re.compile(r"(?:itertools\.)?count$")
# What a number is given on its own: `int(args["epoch_start"])`, `self.start_epoch + 1`; not one that a checkpoint holds.
_PLAIN = re.compile(r"(?:int\(\s*)?(?:[A-Za-z_][\w.]*|(?:args?|opts?|options?|config|cfg|conf|hparams|params)\[\s*[\"']\w+[\"']\s*\])\s*\)?(?:\s*[-+]\s*\d+)?")
_BETWEEN = re.compile(r"range\(\s*([A-Za-z_]\w*)\s*,\s*([A-Za-z_]\w*)\s*\)$")


def begins(loop: Loop) -> str | None:
    """What a loop counts from, where that is no constant: `start_epoch` of `range(start_epoch, epochs)`, or of `count(start_epoch)`."""
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For):
        return None
    counted = _iterated(loop.site.parsed, node)
    while isinstance(counted, cst.Call) and counted.args and not counted.args[0].star and isinstance(counted.args[0].value, cst.Call):
        if loop.site.parsed.text(counted.func).endswith("range"):
            break  # range(int(start), epochs)
        counted = counted.args[0].value  # tqdm(range(...), unit="epochs")
    if isinstance(counted, cst.Call) and _COUNT.match(loop.site.parsed.text(counted.func)) and counted.args:
        first = counted.args[0].value
        return None if isinstance(first, cst.Integer) else loop.site.parsed.text(first)
    if not isinstance(counted, cst.Call) or len(counted.args) < 2 or isinstance(counted.args[0].value, cst.Integer):
        return None
    return loop.site.parsed.text(counted.args[0].value) if loop.site.parsed.text(counted.func).endswith("range") else None


def counted_from(loop: Loop) -> str | None:
    """The name of what a loop counts from, where that is a number made of it: `start` of `range(int(start) + 1, epochs)`."""
    first = begins(loop)
    made_of = _MADE_OF.fullmatch(first) if first is not None else None
    return made_of[1] if made_of is not None else first


def counts_from_the_first(loop: Loop) -> bool:
    """Whether a loop counts from the same number in each run: `range(epochs)`, `range(1, epochs)`."""
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For) or begins(loop) is not None:
        return False
    counted = _iterated(loop.site.parsed, node)
    return isinstance(counted, cst.Call) and loop.site.parsed.text(counted.func).endswith("range")


def begins_by_name(loop: Loop) -> Iterator[str]:
    """What a loop counts from, and what the name of that was given above it: `args.start_epoch` of `epoch = args.start_epoch`,
    `range(epoch, epochs)`; or what the number of its turns is moved on by at once: `i += args.start_iter`."""
    first = begins(loop)
    if first is not None:
        yield first
        yield from _given_above(loop, counted_from(loop) or "")
    moved = _moved_on(loop)
    if moved is not None:
        yield moved


def _given_above(loop: Loop, name: str) -> Iterator[str]:
    if re.fullmatch(r"[A-Za-z_]\w*", name):
        given = re.compile(rf"\s*{name}\s*=\s*({_PLAIN.pattern})\s*(?:#|$)")
        above = loop.site.parsed.facts.lines[: loop.site.location().row - 1]
        yield from (found[1] for line in above if (found := given.match(line)) is not None)


def _moved_on(loop: Loop) -> str | None:
    """What the first statement of a loop adds to the number of its turn, which `enumerate` begins at 0."""
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For) or not isinstance(node.body, cst.IndentedBlock) or not node.body.body:
        return None
    first = node.body.body[0]
    added = first.body[0] if isinstance(first, cst.SimpleStatementLine) and first.body else None
    if not isinstance(added, cst.AugAssign) or not isinstance(added.operator, cst.AddAssign) or not isinstance(node.target, cst.Tuple):
        return None
    text, number = loop.site.parsed.text, node.target.elements[0].value
    return text(added.value) if isinstance(number, cst.Name) and text(added.target) == number.value else None


def added_to_each(loop: Loop) -> Iterator[str]:
    """What the number of each turn is counted on by, where a loop counts from the first: `epoch + done`, `done + epoch + 1`."""
    node = loop.site.node if loop.site is not None else None
    if not counts_from_the_first(loop) or not isinstance(node.target, cst.Name):
        return
    text, turn = loop.site.parsed.text, node.target.value
    for part in walk(node.body):
        if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Add):
            terms = text(part).replace("(", "").replace(")", "").split("+")
            terms = [term.strip() for term in terms]
            if turn in terms:
                yield from (term for term in terms if term != turn and re.fullmatch(r"[A-Za-z_][\w.]*", term))


def _iterated(parsed: Parsed, loop: cst.For) -> cst.BaseExpression:
    """What a loop goes over; of a name that its unit gives something once, what that is: `bar = tqdm(range(start, epochs))`."""
    if not isinstance(loop.iter, cst.Name):
        return loop.iter
    named = [
        node.value for node in walk(parsed.module) if isinstance(node, cst.Assign)
        if any(isinstance(target.target, cst.Name) and target.target.value == loop.iter.value for target in node.targets)
    ]
    return named[0] if len(named) == 1 else loop.iter


def never_turns(loop: Loop) -> bool:
    """Whether a loop counts from a number up to one that is no greater, as their names were last set before it: `range(start, end)`."""
    node = loop.site.node if loop.site is not None else None
    asked = _BETWEEN.match(loop.site.parsed.text(node.iter)) if isinstance(node, cst.For) else None
    if asked is None:
        return False
    lines = loop.site.parsed.facts.lines[: loop.site.location().row - 1]
    given = [[found[1] for line in lines if (found := re.match(rf"\s*{name}\s*=\s*(\w+)", line))] for name in asked.groups()]
    numbers = [int(values[-1]) for values in given if values and values[-1].isdecimal()]
    return len(numbers) == 2 and numbers[0] >= numbers[1]
