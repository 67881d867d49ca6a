"""Blocks as the indentation of a file's lines shows them: what stands around a row, and where a block ends."""

from __future__ import annotations

import re
from itertools import takewhile

from torchlint.dryrun.source_text import Site

_NEAR = 4
_IF = re.compile(r"\s*(?:el)?if\b\s*\(?(.+?)\)?\s*:\s*$")
_IS = re.compile(r"([\w.]+)\s*==\s*(\d+|[\"'][^\"']*[\"'])")
_LEAVES = re.compile(r"\s*(?:return\b|raise\b|(?:sys\.|os\._)?exit\()")


def around_row(lines: list[str], row: int) -> list[str]:
    """The lines beside a row, in its block, and the heads of the blocks that it stands in."""
    depth = _depth(lines[row - 1])
    inside = lambda line: not line.strip() or _depth(line) >= depth
    above = takewhile(inside, reversed(lines[max(row - 1 - _NEAR, 0) : row - 1]))
    return [*above, *takewhile(inside, lines[row - 1 : row + _NEAR]), *heads_of(lines, row)]


def block_of(lines: list[str], row: int) -> list[str]:
    """The lines of the block that a row stands in, without those that stand deeper."""
    depth = _depth(lines[row - 1])
    inside = lambda line: not line.strip() or _depth(line) >= depth
    block = [*takewhile(inside, reversed(lines[: row - 1])), *takewhile(inside, lines[row - 1 :])]
    return [line for line in block if _depth(line) == depth]


def heads_of(lines: list[str], row: int) -> list[str]:
    """The heads of the blocks that a row stands in, up to its function; not that of an `else`, which is about what is not so."""
    return [lines[head - 1] for head in _head_rows(lines, row) if not lines[head - 1].lstrip().startswith(("else", "except"))]


def leaves(load: Site, behind: Site) -> bool:
    """Whether a place is not come to from the block of a load: that leaves the function, or the place stands in its `else`."""
    lines, row, until = load.parsed.facts.lines, load.location().row, behind.location().row
    depth = _depth(lines[row - 1])
    block = list(takewhile(lambda line: not line.strip() or _depth(line) >= depth, lines[row - 1 : until - 1]))
    heads = _head_rows(lines, row)
    if heads and _is_branch(lines[heads[0] - 1]) and any(_LEAVES.match(line) for line in block if _depth(line) == depth):
        return True
    branches = [head for head in heads if _is_branch(lines[head - 1]) and until < _end(lines, head)]
    return any(_branch_of(lines, head, row) != _branch_of(lines, head, until) for head in branches)


def conditional(site: Site) -> bool:
    """Whether a place stands under an `if`, or in its `else`, in its function."""
    return bool(conditions_of(site))


def conditions_of(site: Site) -> frozenset[tuple[str, bool]]:
    """The conditions that a place stands under in its function, and whether they hold."""
    return conditions_at(site.parsed.facts.lines, site.location().row)


def excluded(load: Site, behind: Site) -> bool:
    """The same of two places of one file."""
    return exclude_each_other(load.parsed.facts.lines, load.location().row, behind.location().row)


def exclude_each_other(lines: list[str], row: int, other: int) -> bool:
    """Whether what two rows stand under cannot be so at once: `if mode == "train"` and its `else` further up, or another mode."""
    here, there = conditions_at(lines, row), conditions_at(lines, other)
    if any((text, not holds) in there for text, holds in here):
        return True
    named = [{found[1]: found[2] for text, holds in asked if holds and (found := _IS.fullmatch(text))} for asked in (here, there)]
    return any(named[1].get(name, value) != value for name, value in named[0].items())


class _OfLines:
    """What was found of rows of a file's lines: rules ask the same of the same rows."""

    def __init__(self, lines: list[str]):
        self.lines = lines
        self.heads: dict[int, list[int]] = {}
        self.conditions: dict[int, frozenset[tuple[str, bool]]] = {}


_last = _OfLines([])


def _of(lines: list[str]) -> _OfLines:
    """What is known of the lines that were asked about last."""
    global _last
    if _last.lines is not lines:
        _last = _OfLines(lines)
    return _last


def conditions_at(lines: list[str], row: int) -> frozenset[tuple[str, bool]]:
    """The conditions that a row stands under in its function, and whether they hold."""
    known = _of(lines).conditions
    if row not in known:
        known[row] = frozenset(_find_conditions(lines, row))
    return known[row]


def _find_conditions(lines: list[str], row: int) -> set[tuple[str, bool]]:
    found = set()
    for head in _head_rows(lines, row):
        line = lines[head - 1]
        if not _is_branch(line):
            continue
        depth, asked = _depth(line), _IF.match(line.split("#", 1)[0])
        if asked is not None:
            found.add((asked[1], True))
        for above in reversed(lines[: head - 1] if line.lstrip().startswith("el") else ()):  # what came to an `elif` or `else` is not so
            if not above.strip() or _depth(above) > depth:
                continue
            asked = _IF.match(above.split("#", 1)[0]) if _depth(above) == depth else None
            if asked is None:
                break
            found.add((asked[1], False))
            if above.lstrip().startswith(("if ", "if(")):
                break
    return found


def _head_rows(lines: list[str], row: int) -> list[int]:
    known = _of(lines).heads
    if row not in known:
        known[row] = _find_heads(lines, row)
    return known[row]


def _find_heads(lines: list[str], row: int) -> list[int]:
    depth, heads = _depth(lines[row - 1]), []
    for number in range(row - 1, 0, -1):
        line = lines[number - 1]
        if line.strip() and _depth(line) < depth:
            depth = _depth(line)
            heads.append(number)
            if line.lstrip().startswith(("def ", "async def ", "class ")):
                break
    return heads


def _is_branch(line: str) -> bool:
    return line.lstrip().startswith(("if ", "if(", "elif ", "else"))


def _end(lines: list[str], head: int) -> int:
    """The row behind an `if` and all its branches."""
    depth = _depth(lines[head - 1])
    for number in range(head + 1, len(lines) + 1):
        line = lines[number - 1]
        if line.strip() and (_depth(line) < depth or _depth(line) == depth and not line.lstrip().startswith(("elif ", "else"))):
            return number
    return len(lines) + 1


def _branch_of(lines: list[str], head: int, row: int) -> int:
    """The row of the branch of an `if` that a row stands in."""
    depth = _depth(lines[head - 1])
    return max(number for number in range(head, row + 1) if lines[number - 1].strip() and _depth(lines[number - 1]) == depth)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
