"""What a loop counts through: a range, or a name that stands for all numbers in their order."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Parsed

_LISTED = re.compile(r"(?:list\(\s*range\(|(?:np|numpy|torch)\.arange\(|(?P<bare>range\()|\[\s*(?P<i>\w+)\s+for\s+(?P=i)\s+in\s+range\()")
_WHOLE = re.compile(r"(?:list\(\s*(?P<l>range\(.*\))\s*\)|(?P<r>range\(.*\))|(?:np|numpy|torch)\.a(?P<a>range\(.*\))|\[.*?\bin\s+(?P<c>range\(.*\))\s*\])$")


def named_range(parsed: Parsed, name: str) -> str | None:
    """The range whose numbers a name stands for, from the first to the last: `range(n)` of `numbers = list(range(n))` and of
    `numbers = [i for i in range(n)]`, where that is all that a file gives the name."""
    given = [line.split("#", 1)[0].strip() for line in parsed.facts.lines if re.search(rf"(?<![\w.\"']){name}\b[^=\n()]*(?<![=!<>])=(?!=)", line)]
    made = given[0].partition("=")[2].strip() if len(given) == 1 and re.match(rf"{name}\s*=[^=]", given[0]) else ""
    found = _WHOLE.match(made) if _LISTED.match(made) else None
    return next((part for part in found.groups() if part), None) if found is not None else None


def range_of(parsed: Parsed, over: cst.BaseExpression) -> str:
    """The text of what a loop goes over; of a name that stands for numbers in their order, their range."""
    named = named_range(parsed, over.value) if isinstance(over, cst.Name) else None
    return named if named is not None else parsed.text(over)
