"""Whether what mixes data does so once, before all epochs, or may do so again: what is mixed once has one order in all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Loop
from torchlint.rules.base import View
from torchlint.sieve.facts import FileFacts, Unit

# What mixes, as it is written and as it is called.
WRITTEN = re.compile(
    r"(?<!def )(?<!\w)(?:(?:shuffle|permutation|randperm|train_test_split)\s*\(|sample\s*\(\s*frac\s*=\s*1(?:\.0?)?\s*[,)])"
)
_CALLED = re.compile(r"(?:^|[._])(?:shuffle|permutation|randperm|train_test_split|sample)$")
_SAID = re.compile(r"\"\"\"[\s\S]*?\"\"\"|\'\'\'[\s\S]*?\'\'\'")
_KEEPS = re.compile(r"\bshuffle\s*=\s*False")  # `train_test_split(x, y, shuffle=False)`: somebody cares for the order
_LATER = re.compile(rf"\blambda\b|{_KEEPS.pattern}")
_KINDS = ("readout", "unknown", "call")


Where = tuple[FileFacts, Sequence[Unit] | None]  # a file, or some functions of it


def mixings(view: View, places: Iterable[Where], loops: Iterable[Loop] | None, around: str = "") -> list[Event] | None:
    """What mixes something in some places, where each of it is seen to happen outside the loops that train (outside all loops,
    where these are not known); None where some of it may happen in each epoch, or keeps an order on purpose. `around` is the text
    of the loops, where they stand in the same file: what it does not lead to by any name is not called in them."""
    training = None if loops is None else {_place(loop.site) for loop in loops if loop.site is not None}
    trained_in = None if training is None else {path for path, _ in training}
    found: list[Event] = []
    for facts, units in places:
        rows = [row for row in _rows(facts) if units is None or any(unit.start <= row <= unit.end for unit in units)]
        seen = _seen(view, facts.path) if rows else {}
        for row in rows:
            events, unit = seen.get(row, []), _unit_at(facts, row)
            if unit is None and trained_in and facts.path not in trained_in and not _LATER.search(facts.lines[row - 1]):
                continue  # what a file does where it is imported it does once
            outside = unit is not None and bool(around) and not _may_be_called(facts, unit, around)
            if any(_repeated(event, training) or _KEEPS.search(event.site.text()) for event in events):
                return None
            if not events and unit is not None and _nobody_names(view, facts, unit):
                continue
            if not outside and (not events or around and unit is not None and unit.name != "__init__"):
                return None
            found.extend(event for event in events[:1] if event not in found)
    return found


def mixes_in_training(view: View, loops: Iterable[Loop] | None) -> bool:
    """Whether something is seen, wherever it stands, that mixes in the loops that train, or that draws samples."""
    training = None if loops is None else {_place(loop.site) for loop in loops if loop.site is not None}
    mixing = (event for event in view.of("unknown") if _CALLED.search(event.get("name") or ""))
    return any(_repeated(event, training) or not WRITTEN.search(event.site.text()) for event in mixing)


def one_turn(loop: Loop) -> bool:
    """Whether a loop is one in name only: `for epoch in range(1)`, or over a number that its file sets to 1 and to nothing else."""
    if loop.once or loop.site is None:
        return loop.once
    asked = re.match(r"for\s+\w+\s+in\s+range\(\s*([A-Za-z_]\w*)\s*\)", loop.site.text())
    if asked is None:
        return False
    lines = loop.site.parsed.facts.lines
    given = [line.partition("=")[2].split("#", 1)[0].strip() for line in lines if re.match(rf"\s*{asked[1]}\s*=[^=]", line)]
    return given == ["1"]


def _seen(view: View, path: str) -> dict[int, list[Event]]:
    """What is seen to mix in a file, by its row."""
    found: dict[int, list[Event]] = {}
    for event in view.of(*_KINDS):
        if event.site is not None and event.site.path == path and _CALLED.search(event.get("name") or ""):
            found.setdefault(event.site.location().row, []).append(event)
    return found


def _repeated(event: Event, training: set[tuple[str, int]] | None) -> bool:
    """Whether something happens in a loop that trains; in any loop, where these are not known."""
    loops = [loop for loop in event.loops if not loop.once]
    return bool(loops) if training is None else any(loop.site is None or _place(loop.site) in training for loop in loops)


_BY_OTHERS = re.compile(r"__\w+__$|on_\w+$")  # what Python calls, or a trainer


def _may_be_called(facts: FileFacts, unit: Unit, around: str) -> bool:
    """Whether a text leads to a function of its file, by its name or that of another function that does."""
    if _BY_OTHERS.match(unit.name):
        return True
    units = (*facts.functions.values(), *(each for cf in facts.classes.values() for each in cf.methods.values()))
    todo, reached = set(re.findall(r"[A-Za-z_]\w*", around)), set()
    while todo:
        reached |= todo
        todo = {word for each in units if each.name in todo for word in each.words} - reached
    return unit.name in reached


def _nobody_names(view: View, facts: FileFacts, unit: Unit) -> bool:
    """Whether a function is one of a file's own that no line names but its own: neither of the file nor of another one of the project."""
    if facts.functions.get(unit.name) is not unit or unit.decorators or _BY_OTHERS.match(unit.name):
        return False
    named = re.compile(rf"\b{re.escape(unit.name)}\b").search
    project = view.run.world.project_of(facts.path)
    if project is None:
        return False
    beside = (line for row, line in enumerate(facts.lines, 1) if not unit.start <= row <= unit.end)
    others = (file.code for path, file in project.files.items() if path != facts.path)
    return not any(map(named, beside)) and not any(map(named, others))


def _place(site: Site) -> tuple[str, int]:
    return site.path, site.location().row


def _rows(facts: FileFacts) -> Iterator[int]:
    """The rows of a file in which something is written that mixes, outside comments and texts that say what a function does."""
    text = "".join(line.split("#", 1)[0].rstrip("\n") + "\n" for line in facts.lines)
    text = _SAID.sub(lambda said: "\n" * said[0].count("\n"), text)
    for row, line in enumerate(text.split("\n"), 1):
        if WRITTEN.search(line):
            yield row


def _unit_at(facts: FileFacts, row: int) -> Unit | None:
    """The function or method that a row stands in, the innermost."""
    units = (*facts.functions.values(), *(unit for cf in facts.all_classes() for unit in cf.methods.values()))
    inside = [unit for unit in units if unit.start <= row <= unit.end]
    return min(inside, key=lambda unit: unit.end - unit.start, default=None)
