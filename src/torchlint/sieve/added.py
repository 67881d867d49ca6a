"""Functions, and imports of Python's own modules, that a file has got since it was looked at, and that nothing can have asked for:
what was found without them still holds."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from torchlint.sieve.facts import FileFacts, Unit
from torchlint.sieve.reader import read_facts

_SIZE = 4  # bytes of what is kept of a name
_BUILTINS = frozenset(dir(builtins))
# Who writes these may ask for names that nobody has written.
_ASKS_FOR_ANY = re.compile(r"\b(?:dir|globals|locals|vars)\(|\bgetmembers\b|^def __getattr__\b", re.MULTILINE)
_OF_SOMETHING = re.compile(r"\b(\w+)[\w.]*\.__dict__\b")
_STARS = re.compile(r"\bimport\s+\*")


def names_of(facts: FileFacts) -> bytes:
    """What is kept of the names of a file's functions and imports: enough to know a new one."""
    return b"".join(sorted(map(_short, facts.functions.keys() | facts.imports.keys())))


def without_new(facts: FileFacts, names: bytes) -> tuple[FileFacts, frozenset[str], frozenset[str]] | None:
    """The file without the functions that are new in it and the imports, and the names of the ones and of the others.

    Args:
        facts: the file as it is now.
        names: what was kept of the names that it had.

    Returns:
        None where there are none, or where they do more than give a name to something: a decorator or a default is run, an older
        meaning of the name goes, a module is imported that is not Python's.
    """
    known = {names[at : at + _SIZE] for at in range(0, len(names), _SIZE)}
    new = {name: unit for name, unit in facts.functions.items() if _short(name) not in known}
    if not all(_only_defines(facts, name, unit) for name, unit in new.items()):
        return None
    rows = {row for unit in new.values() for row in range(unit.start, unit.end + 1)}
    imported = {name for name in facts.imports if _short(name) not in known and _is_free(facts, name)}
    if imported:
        rows.update(_rows_of_imports("".join(facts.own_lines), imported))
    text = "".join(line for row, line in enumerate(facts.own_lines, 1) if row not in rows)
    try:
        return (read_facts(facts.path, text), frozenset(new), frozenset(imported)) if rows else None
    except SyntaxError:
        return None


def may_ask_for(functions: Iterable[str], imported: Iterable[str], own: str, others: Iterable[str]) -> bool:
    """Whether somebody names one of the new functions or imports, or asks for names in a way that does not show them.

    Args:
        functions: the names of new functions.
        imported: the names that are newly imported: other files use the same ones for what they import themselves.
        own: the text of the file that they are in.
        others: the texts of other files.
    """
    asks = _names([*functions, *imported])
    if asks.search(own) or _asks_for_any(own):
        return True
    named = _names(functions) if functions else None
    taken = [re.compile(rf"\.\s*{name}\b|\bfrom\b[^\n]*\bimport\b(?:[^\n(]|\([^)]*)*\b{name}\b") for name in map(re.escape, imported)]
    for text in others:
        if named and named.search(text) or _asks_for_any(text):
            return True
        if any(one.search(text) for one in taken) or imported and _STARS.search(text) and asks.search(text):
            return True
    return False


def looked_at(facts: FileFacts, seen: Iterable[Unit]) -> str:
    """The text of a file without the functions and methods that were not looked at."""
    left = set(_all_functions(facts)) - set(seen)
    rows = {row for unit in left for row in range(unit.start, unit.end + 1)}
    return "".join(line for row, line in enumerate(facts.own_lines, 1) if row not in rows)


def _names(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")


def _asks_for_any(text: str) -> bool:
    return bool(_ASKS_FOR_ANY.search(text)) or _asks_a_module(text)


def _asks_a_module(text: str) -> bool:
    """Whether something that is imported is asked for all that it holds."""
    owners = {found[1] for found in _OF_SOMETHING.finditer(text)}
    return any(re.search(rf"\bimport\b[^\n]*\b{owner}\b", text) for owner in owners)


def _all_functions(facts: FileFacts) -> Iterator[Unit]:
    yield from facts.functions.values()
    for cls in facts.all_classes():
        yield from cls.methods.values()


def _is_free(facts: FileFacts, name: str) -> bool:
    """Whether a name stands for one thing in a file, and for none in Python."""
    meanings = (name in facts.imports) + (name in facts.functions) + (name in facts.classes)
    return meanings == 1 and name not in _BUILTINS and name not in facts.again and name not in facts.instead


def _rows_of_imports(text: str, names: set[str]) -> Iterator[int]:
    """The rows of the statements that import these alone, from Python's own modules."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            modules = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        else:
            continue
        bound = {item.asname or item.name.partition(".")[0] for item in node.names}
        if bound <= names and all(module.partition(".")[0] in sys.stdlib_module_names for module in modules):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _only_defines(facts: FileFacts, name: str, unit: Unit) -> bool:
    return _is_free(facts, name) and not unit.decorators and not _runs_something("".join(facts.own_lines[unit.start - 1 : unit.end]))


def _runs_something(text: str) -> bool:
    """Whether defining this function evaluates more than constants and names."""
    node = ast.parse(text).body[0]
    given = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Await)) for one in given for part in ast.walk(one))


def _short(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
