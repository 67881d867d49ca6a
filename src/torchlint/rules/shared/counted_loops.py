"""What a loop over numbers counts from, and whether it has a turn at all."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Loop


_MADE_OF = re.compile(r"(?:int\(\s*)?([A-Za-z_][\w.]*)\s*\)?\s*(?:[-+]\s*\d+)?")
_BETWEEN = re.compile(r"range\(\s*([A-Za-z_]\w*)\s*,\s*([A-Za-z_]\w*)\s*\)$")


def begins(loop: Loop) -> str | None:
    """What a loop counts from, where that is no constant: `start_epoch` of `range(start_epoch, epochs)`."""
    node = loop.site.node if loop.site is not None else None
    if not isinstance(node, cst.For):
        return None
    counted = _iterated(loop.site.parsed, node)
    while isinstance(counted, cst.Call) and counted.args and not counted.args[0].star and isinstance(counted.args[0].value, cst.Call):
        if loop.site.parsed.text(counted.func).endswith("range"):
            break  # range(int(start), epochs)
        counted = counted.args[0].value  # tqdm(range(...), unit="epochs")
    if not isinstance(counted, cst.Call) or len(counted.args) < 2 or isinstance(counted.args[0].value, cst.Integer):
        return None
    return loop.site.parsed.text(counted.args[0].value) if loop.site.parsed.text(counted.func).endswith("range") else None


def counted_from(loop: Loop) -> str | None:
    """The name of what a loop counts from, where that is a number made of it: `start` of `range(int(start) + 1, epochs)`."""
    first = begins(loop)
    made_of = _MADE_OF.fullmatch(first) if first is not None else None
    return made_of[1] if made_of is not None else first


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
