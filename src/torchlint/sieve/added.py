"""Functions that a file has got since it was looked at, and that nothing can have asked for: what was found without them still
holds."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from torchlint.sieve.facts import FileFacts, Unit
from torchlint.sieve.reader import read_facts

_SIZE = 4  # bytes of what is kept of a name
_BUILTINS = frozenset(dir(builtins))
# Who writes these may ask for names that nobody has written.
_ASKS_FOR_ANY = re.compile(r"\b(?:dir|globals|locals|vars)\(|\bgetmembers\b|^def __getattr__\b", re.MULTILINE)
_OF_SOMETHING = re.compile(r"\b(\w+)[\w.]*\.__dict__\b")


def names_of(facts: FileFacts) -> bytes:
    """What is kept of the names of a file's functions: enough to know a new one."""
    return b"".join(sorted(map(_short, facts.functions)))


def without_new(facts: FileFacts, names: bytes) -> tuple[FileFacts, frozenset[str]] | None:
    """The file without the functions that are new in it, and their names.

    Args:
        facts: the file as it is now.
        names: what was kept of the names that it had.

    Returns:
        None where there are none, or where defining them does more than that: a decorator or a default is run, an older
        meaning of the name goes.
    """
    known = {names[at : at + _SIZE] for at in range(0, len(names), _SIZE)}
    new = {name: unit for name, unit in facts.functions.items() if _short(name) not in known}
    if not new or not all(_only_defines(facts, name, unit) for name, unit in new.items()):
        return None
    rows = {row for unit in new.values() for row in range(unit.start, unit.end + 1)}
    text = "".join(line for row, line in enumerate(facts.own_lines, 1) if row not in rows)
    try:
        return read_facts(facts.path, text), frozenset(new)
    except SyntaxError:
        return None


def may_ask_for(names: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether some texts name one of these, or ask for names in a way that does not show them."""
    asks = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")
    return any(asks.search(text) or _ASKS_FOR_ANY.search(text) or _asks_a_module(text) for text in texts)


def looked_at(facts: FileFacts, seen: Iterable[Unit]) -> str:
    """The text of a file without the functions and methods that were not looked at."""
    left = set(_all_functions(facts)) - set(seen)
    rows = {row for unit in left for row in range(unit.start, unit.end + 1)}
    return "".join(line for row, line in enumerate(facts.own_lines, 1) if row not in rows)


def _asks_a_module(text: str) -> bool:
    """Whether something that is imported is asked for all that it holds."""
    owners = {found[1] for found in _OF_SOMETHING.finditer(text)}
    return any(re.search(rf"\bimport\b[^\n]*\b{owner}\b", text) for owner in owners)


def _all_functions(facts: FileFacts) -> Iterator[Unit]:
    yield from facts.functions.values()
    for cls in facts.all_classes():
        yield from cls.methods.values()


def _only_defines(facts: FileFacts, name: str, unit: Unit) -> bool:
    taken = name in _BUILTINS or name in facts.imports or name in facts.classes or name in facts.again
    return not taken and not unit.decorators and not _runs_something("".join(facts.own_lines[unit.start - 1 : unit.end]))


def _runs_something(text: str) -> bool:
    """Whether defining this function evaluates more than constants and names."""
    node = ast.parse(text).body[0]
    given = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Await)) for one in given for part in ast.walk(one))


def _short(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
