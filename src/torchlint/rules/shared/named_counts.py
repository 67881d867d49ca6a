"""Numbers that are taken out of the name of the file that weights are loaded from, and that the training counts on from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.sieve.facts import FileFacts

_READ = re.compile(r"\bload\(\s*([A-Za-z_][\w.]*)\s*[,)]")
_CUT = r"\b(?:split|rsplit|splitext|search|findall|match|strip|stem|replace)\b|\[-?\d*:-?\d*\]"
_TAKEN = re.compile(rf"\s*([A-Za-z_][\w.]*)\s*=\s*int\((.*(?:{_CUT}).*)")
_MADE = r"(?:max\(\s*\d+\s*,\s*|int\(\s*)*{0}\s*\)*(?:\s*[-+]\s*\d+)?\)*\s*$"


def counts_of_name(site: Site, near: list[str]) -> Iterator[str]:
    """The names of the numbers that are taken, in the function that a load stands in, out of the name of the file that is read near it,
    and of what is made of them: `last = int(path.split("_")[-1])`, `step = max(0, last)`."""
    files = [re.escape(found[1]) for line in near for found in _READ.finditer(line.split("#", 1)[0])]
    if not files:
        return
    lines = _lines_of_function(site)
    speaks = re.compile(rf"(?<![\w.])(?:{'|'.join(files)})\b")
    for line in lines:
        taken = _TAKEN.match(line)
        if taken is not None and speaks.search(taken[2]):
            yield taken[1]
            yield from _made_of(taken[1], lines)


def _made_of(name: str, lines: list[str]) -> Iterator[str]:
    made = re.compile(rf"\s*([A-Za-z_][\w.]*)\s*=\s*{_MADE.format(re.escape(name))}")
    yield from (found[1] for line in lines if (found := made.match(line)) is not None)


def _lines_of_function(site: Site) -> list[str]:
    """The lines of the function that a place stands in, or of the whole file where it stands in none, comments left out."""
    facts, unit = site.parsed.facts, site.parsed.unit
    inside = not isinstance(unit, FileFacts) and not any(item is unit for item in facts.body)
    lines = facts.lines[unit.start - 1 : unit.end] if inside else facts.lines
    return [line.split("#", 1)[0].rstrip() for line in lines]
