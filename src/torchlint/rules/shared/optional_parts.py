"""What a helper would bring back, and is never handed: `if scheduler is not None: scheduler.load_state_dict(...)`, of `scheduler=None`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event
from torchlint.rules.base import View
from torchlint.rules.shared.blocks import heads_of
from torchlint.rules.shared.checkpoints import files_of
from torchlint.sieve.facts import FileFacts, Unit

_ASKS = re.compile(r"\s*(?:el)?if\s*\(?\s*([A-Za-z_]\w*)(?:\s+is\s+not\s+None|\s*!=\s*None)?\s*\)?\s*(?:and\b[^#]*)?:\s*(?:#|$)")
_LONGEST = 30  # rows that a call may take


def rows_without_parts(view: View, event: Event) -> frozenset[tuple[int, int]]:
    """The rows of functions that load, each with its file, that stand under an `if` for a parameter that is None, as no call in the files
    of the run hands it over; with those of the functions' heads, which name it."""
    files, found = files_of(view, event), set()
    units = {id(load.site.parsed.unit): (load.site.parsed.facts, load.site.parsed.unit) for load in view.of("load") if load.calls}
    for facts, unit in units.values():
        missing = set(_left_out(facts, unit, files)) if isinstance(unit, Unit) else set()
        if not missing:
            continue
        found |= {(id(facts), row) for row in _head(facts, unit)}
        for row in range(unit.start, unit.end + 1):
            heads = (_ASKS.match(head) for head in heads_of(facts.lines, row))
            if any(head is not None and head[1] in missing for head in heads):
                found.add((id(facts), row))
    return frozenset(found)


def _left_out(facts: FileFacts, unit: Unit, files: list[FileFacts]) -> Iterator[str]:
    """The parameters that are None where nothing is handed over, and that no call hands over."""
    asked = {head[1] for line in facts.lines[unit.start - 1 : unit.end] if (head := _ASKS.match(line)) is not None}
    asked &= set(unit.params) - unit.binds
    none = _none_by_default(facts, unit) & asked
    calls = [call for file in files for call in _calls(file, unit.name)] if none else []
    if not calls or None in calls:
        return
    places = [param for param in unit.params if param not in ("self", "cls")]
    for name in none:
        if not any(_hands_over(call, name, places.index(name)) for call in calls if call is not None):
            yield name


def _none_by_default(facts: FileFacts, unit: Unit) -> set[str]:
    head = " ".join(facts.lines[row - 1].split("#", 1)[0] for row in _head(facts, unit))
    return set(re.findall(r"([A-Za-z_]\w*)\s*(?::[^,=]*)?=\s*None\b", head))


def _head(facts: FileFacts, unit: Unit) -> range:
    """The rows of a function's head."""
    rows = range(unit.start, unit.end + 1)
    begins = next((row for row in rows if re.match(r"\s*(?:async\s+)?def\b", facts.lines[row - 1])), unit.start)
    ends = next((row for row in rows if row >= begins and facts.lines[row - 1].split("#", 1)[0].rstrip().endswith(":")), begins)
    return range(begins, ends + 1)


def _calls(facts: FileFacts, name: str) -> Iterator[ast.Call | None]:
    """The calls of a function by its name; None for whatever else is done with it, but for importing it."""
    word = re.compile(rf"(?<![\w\"']){re.escape(name)}(?![\w\"'])")
    for row, line in enumerate(facts.lines, 1):
        code = line.split("#", 1)[0]
        if not word.search(code) or re.match(r"\s*(?:async\s+)?def\b|\s*(?:from|import)\b", code) or _is_told(facts.lines, row, code, name):
            continue
        for found in word.finditer(code):
            yield _call_at(facts.lines, row, code[found.start() :])


def _is_told(lines: list[str], row: int, code: str, name: str) -> bool:
    """Whether a name stands in a list of what is imported, over several lines."""
    return re.fullmatch(rf"[\s\w,()]*\b{re.escape(name)}\b[\s\w,()]*", code) is not None and any(
        re.match(r"\s*from\b.*\(\s*(?:#|$)|\s*from\b.*\\$", line) for line in lines[max(row - _LONGEST, 0) : row - 1]
    ) and f"{name}(" not in code


def _call_at(lines: list[str], row: int, text: str) -> ast.Call | None:
    """What is called at the beginning of a text that goes on in the lines behind a row."""
    for line in ("", *lines[row : row + _LONGEST]):
        text += line
        for end in (at for at, sign in enumerate(text) if sign == ")"):
            try:
                call = ast.parse(text[: end + 1], mode="eval").body
            except SyntaxError:
                continue
            return call if isinstance(call, ast.Call) else None
    return None


def _hands_over(call: ast.Call, name: str, place: int) -> bool:
    if any(isinstance(arg, ast.Starred) for arg in call.args) or any(keyword.arg is None for keyword in call.keywords):
        return True
    given = [keyword.value for keyword in call.keywords if keyword.arg == name] + call.args[place : place + 1]
    return any(not (isinstance(value, ast.Constant) and value.value is None) for value in given)
