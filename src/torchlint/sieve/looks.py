"""What a verdict hangs on of a file that another file uses: not all that stands in it, but its outline, and the inside of those
functions that were looked at. As long as these stay so, the file may change otherwise."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Hashable, Iterable
from hashlib import blake2b
from typing import Any

from torchlint.sieve.added import looked_at, may_ask_for, names_of, without_new
from torchlint.sieve.facts import KINDS, ClassFacts, FileFacts, Unit, all_units
from torchlint.sieve.glimpse import Glimpse

_BETWEEN = "\0"


def glimpse_of(facts: FileFacts) -> Glimpse | None:
    """What was looked at since the file was last asked for; None where that may be all of it."""
    seen = facts.seen
    if seen.lines:
        return None
    units = all_units(facts)
    numbers = {unit: number for number, unit in enumerate(units)}
    masks = tuple(_mask(numbers[unit] for unit in seen.units[kind]) for kind in KINDS)
    digest = _digest(facts, units, seen.rows, seen.words, masks)
    return Glimpse(seen.rows, seen.words, masks, digest, names_of(facts))


def holds(glimpse: Glimpse, facts: FileFacts, others: Callable[[], Iterable[str]] | None = None) -> bool:
    """Whether what was looked at is the same in another version of the file, or there is more in it that nobody can have asked for.

    Args:
        glimpse: what was looked at.
        facts: the file as it is now.
        others: gives the texts of the other files that counted; None where these are not known.
    """
    if _same(glimpse, facts):
        return True
    rest = without_new(facts, glimpse.names) if others is not None and not glimpse.rows else None
    if rest is None:
        return False
    before, functions, imported = rest
    if not _same(glimpse, before) or glimpse.words and before.own_words != facts.own_words:
        return False
    units = all_units(before)
    seen = [unit for number, unit in enumerate(units) if any(_bits(mask) >> number & 1 for mask in glimpse.units)]
    return not may_ask_for(functions, imported, looked_at(before, seen), others())


def _same(glimpse: Glimpse, facts: FileFacts) -> bool:
    units = all_units(facts)
    if len(glimpse.units) != len(KINDS) or any(len(mask) * 8 >= len(units) + 8 for mask in glimpse.units):
        return False
    return glimpse.digest == _digest(facts, units, glimpse.rows, glimpse.words, glimpse.units)


def _mask(numbers: Iterable[int]) -> bytes:
    found = sum(1 << number for number in numbers)
    return found.to_bytes((found.bit_length() + 7) // 8, "little")


def _bits(mask: bytes) -> int:
    return int.from_bytes(mask, "little")


def _digest(facts: FileFacts, units: list[Unit], rows: bool, words: bool, masks: tuple[bytes, ...]) -> bytes:
    parts = [_known(facts, "outline", facts, _outline)]
    if rows:
        parts.append(_known(facts, "rows", units, _rows))
    if words:
        parts.append(_known(facts, "words", facts.own_words, _names))
    for kind, mask in zip(KINDS, masks):
        bits = _bits(mask)
        parts.append(mask)
        for number in range(bits.bit_length()):
            if bits >> number & 1 and number < len(units):
                parts.append(_inside(facts, number, units[number], kind, rows))
    return blake2b(_BETWEEN.encode().join(parts), digest_size=16).digest()


def _inside(facts: FileFacts, number: int, unit: Unit, kind: str, rows: bool) -> bytes:
    """What stands for one thing that is known of a unit."""
    if kind == "tree":
        lines = facts.own_lines[unit.start - 1 : unit.end]
        return _known(facts, (number, "text"), lines, "".join) if rows else _known(facts, (number, kind), lines, _code)
    own = getattr(unit, f"own_{kind}")
    return _known(facts, (number, kind), own, _given if kind == "gives" else _names)


def _known(facts: FileFacts, key: Hashable, value: Any, text: Callable[[Any], str]) -> bytes:
    """The digest of the text of something, worked out once for each version of a file."""
    found = facts.digests.get(key)
    if found is None:
        made = text(value)
        found = facts.digests[key] = blake2b(made.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return found


def _names(names: Iterable[str]) -> str:
    return _BETWEEN.join(sorted(names))


def _given(gives: dict[str, frozenset[str]]) -> str:
    return "\n".join(f"{name}={_names(words)}" for name, words in sorted(gives.items()))


def _rows(units: list[Unit]) -> str:
    return repr([(unit.start, unit.end) for unit in units])


def _code(lines: list[str]) -> str:
    """The text of a unit without the comments between its statements: those within brackets are part of what stands there."""
    text = "".join(lines)
    if "#" not in text:
        return text
    kept = list(lines)
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            elif token.type == tokenize.COMMENT and not depth:
                before = token.line[: token.start[1]].rstrip()
                kept[token.start[0] - 1] = before and before + "\n"
    except (tokenize.TokenError, SyntaxError):
        return text
    return "".join(kept)


def _outline(facts: FileFacts) -> str:
    """What a file says without the inside of its functions: what is defined and imported, in order, and how."""
    body = [item if isinstance(item, str) else _of_unit(item) for item in facts.body]
    again = [(name, [_of_definition(item) for item in items]) for name, items in facts.again.items()]
    functions = [_of_unit(unit) for unit in facts.functions.values()]
    classes = [_of_class(cls) for cls in facts.classes.values()]
    return repr((body, functions, classes, again, facts.imports, facts.instead, facts.stars, facts.added))


def _of_definition(item: Unit | ClassFacts) -> tuple:
    return _of_unit(item) if isinstance(item, Unit) else _of_class(item)


def _of_unit(unit: Unit) -> tuple:
    return unit.name, unit.indent, unit.params, unit.is_async, unit.decorators


def _of_class(cls: ClassFacts) -> tuple:
    methods = [(name, _of_unit(unit)) for name, unit in cls.methods.items()]
    inner = [(name, _of_class(one)) for name, one in cls.classes.items()]
    return cls.name, cls.bases, cls.keywords, cls.decorators, methods, [_of_unit(unit) for unit in cls.body], inner
