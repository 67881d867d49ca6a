"""Data that a program parts into a training half and a half for the test: itself, by slices of the rows, or by
`train_test_split` or `random_split`."""

from __future__ import annotations

import re

from torchlint.dryrun.source_text import Parsed, Site

_ASSIGNED = re.compile(r"\s*\(?([A-Za-z_][\w\s,]*?)\)?\s*=\s*([^=\s].*)")
_SLICED = re.compile(r"(?<![\w.\])])([A-Za-z_]\w*)(?:\.(?:i?loc|values))?\[([^\[\]]*)\]")
_ROWS = re.compile(r"\s*(?!:\s*(?:,|$))[^,:]*:[^,:]*(?:,|$)")  # `[:n]`, `[n:, 3]`; not `[:, 3]`
_DRAWN = re.compile(r"(?:train_test_split|random_split)\(")
# Two names in a list, joined row by row: `np.concatenate([a, b], axis=0)`, `pd.concat((a, b))`.
_JOINED = re.compile(r"(?:np|numpy|pd|pandas)\.(?:concatenate|vstack|concat)\([\[(](\s*\w+\s*,\s*\w+\s*),?[\])]\s*(?:,\s*(?:axis\s*=\s*)?0\s*)?\)\s*$")
_ROWS_OF_A_CALL = 4
_TRAIN = re.compile(r"(?<![A-Za-z])(?:[Tt]rain|TRAIN|trn)|(?<=[XxYy])train|(?<=[a-z])Train")
_TEST = re.compile(
    r"(?<![A-Za-z])(?:[Tt]est|TEST|[Vv]alid|VALID)|(?<=[XxYy])(?:test|valid|val(?![a-z]))|(?<=[a-z])(?:Test|Valid|Val(?![a-z]))"
    r"|(?<![A-Za-z])(?:[Vv]al|VAL)(?![A-Za-z])|held_?out"
)


def split_behind(site: Site, name: str) -> str | None:
    """What of a name, or of what is made of it, is cut into a training part and another one behind a place, by slices; None where
    nothing is."""
    lines, last = _behind(site)
    made, trains, tests = {name}, False, set()
    for number, line in enumerate(lines[:last]):
        found = _ASSIGNED.match(line.split("#", 1)[0].rstrip())
        if found is None:
            continue
        targets, value = [target.strip() for target in found[1].split(",")], found[2]
        if drawn := _DRAWN.search(value):
            given = _words("".join(lines[number : number + _ROWS_OF_A_CALL]).partition(drawn[0])[2].partition(")")[0])
            if cut := next((word for word in given if word in made), None):
                return cut
            continue
        cuts = [base for base, at in _SLICED.findall(value) if base in made and _ROWS.match(at)]
        if cuts and (len(targets) == len(cuts) or len(cuts) == 1):
            for target, base in zip(targets, cuts if len(cuts) > 1 else cuts * len(targets)):
                trains = trains or bool(_TRAIN.search(target))
                if _TEST.search(target) and not _TRAIN.search(target):
                    tests.add(base)
        elif any(word in made for word in _words(value)):
            made.update(targets)
            trains = trains or any(map(_TRAIN.search, targets))
        if trains and tests:
            return min(tests)
    return None


def joined_before(site: Site, name: str) -> bool:
    """Whether a name was last given a training part and another one, joined row by row: `X = np.concatenate([X_train, X_test])`."""
    given = [found[2] for line in rows_before(site) if (found := _ASSIGNED.match(line.split("#", 1)[0].rstrip())) and found[1].strip() == name]
    joined = _JOINED.match(given[-1]) if given else None
    parts = _words(joined[1]) if joined is not None else []
    trains = [word for word in parts if _TRAIN.search(word)]
    return len(parts) == 2 and len(trains) == 1 and any(_TEST.search(word) for word in parts if word not in trains)


def trained_on_slice(site: Site, name: str) -> bool:
    """Whether the rows for training are cut out of a name behind a place, by slices, before it is given something else."""
    lines, last = _behind(site)
    for line in lines[:last]:
        found = _ASSIGNED.match(line.split("#", 1)[0].rstrip())
        targets = [target.strip() for target in found[1].split(",")] if found is not None else []
        if any(base == name and _ROWS.match(at) for base, at in _SLICED.findall(found[2] if found is not None else "")):
            return len(targets) == 1 and bool(_TRAIN.search(targets[0])) and not _TEST.search(targets[0])
        if name in targets:
            return False
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])[A-Za-z_]\w*", text)


def _behind(site: Site) -> tuple[list[str], int]:
    """The lines behind a place, and how many of them are of the same function, or outside any."""
    facts, unit, row = site.parsed.facts, site.parsed.unit, site.location().row
    if in_function(site.parsed):
        return facts.lines[row : unit.end], unit.end - row
    rows = _outside_functions(site.parsed, row, len(facts.lines))
    return rows, len(rows)


def rows_before(site: Site) -> list[str]:
    """The lines before a place that are of the same function, or outside any."""
    facts, unit, row = site.parsed.facts, site.parsed.unit, site.location().row
    if in_function(site.parsed):
        return facts.lines[unit.start - 1 : row - 1]
    return _outside_functions(site.parsed, 0, row - 1)


def _outside_functions(parsed: Parsed, start: int, end: int) -> list[str]:
    inside = {line for other in _functions(parsed) for line in range(other.start, other.end + 1)}
    return [line for number, line in enumerate(parsed.facts.lines[start:end], start + 1) if number not in inside]


def in_function(parsed: Parsed) -> bool:
    """Whether a stretch of source is a function or a method."""
    return any(parsed.unit is other for other in _functions(parsed))


def _functions(parsed: Parsed) -> list:
    facts = parsed.facts
    return [*facts.functions.values(), *(unit for cls in facts.all_classes() for unit in cls.methods.values())]
