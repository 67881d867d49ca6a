"""The facts of a file: one parse by the C parser, and its top-level statements put into functions, classes and runs."""

from __future__ import annotations

import ast

from torchlint.files.search_path import added_folders
from torchlint.sieve.definitions import read_class, read_function
from torchlint.sieve.facts import ClassFacts, FileFacts, Unit, all_units, units_of
from torchlint.sieve.imports import note_imports
from torchlint.sieve.nodes import BUILTINS
from torchlint.sieve.words import read_unit


def read_facts(path: str, text: str) -> FileFacts:
    """The facts of one file.

    Raises:
        SyntaxError: the text does not parse (also for null bytes and for nesting past what the parser takes).
    """
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too deeply nested") from None
    facts = FileFacts(path, split_lines(text))
    everything: set[str] = set()
    run: list[ast.stmt] = []

    def flush() -> None:
        if run:
            unit = read_unit("<module>", run[0], run[-1], run, indent=False)
            everything.update(unit.words)
            facts.body.append(unit)
            run.clear()

    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            flush()
            unit = read_function(node, indent=False)
            _note_again(facts, node.name, unit)
            facts.functions[node.name] = unit
            facts.body.append(node.name)
            everything.update(unit.words)
        elif isinstance(node, ast.ClassDef):
            flush()
            cls = read_class(node, everything)
            _note_again(facts, node.name, cls)
            facts.classes[node.name] = cls
            facts.body.append(node.name)
        else:
            if run and not (_simple(node) and _simple(run[-1])):
                flush()
            run.append(node)
    flush()
    for node in tree.body:
        note_imports(node, facts)
        _conditional_classes(node, facts)
    facts.added = added_folders(text, tree)
    facts.own_words = frozenset(everything)
    _mark_models(facts)
    for unit in all_units(facts):
        unit.seen = facts.seen
    return facts


def _mark_models(facts: FileFacts) -> None:
    """Marks the units that call what may be a model: something that is neither defined nor imported here."""
    known = facts.functions.keys() | facts.classes.keys() | facts.imports.keys() | BUILTINS
    again = (unit for units in facts.again.values() for unit in units if isinstance(unit, Unit))
    for unit in (*units_of(facts), *again):
        if not unit.calls <= known:
            unit.words |= {"!calls"}


def _note_again(facts: FileFacts, name: str, new: Unit | ClassFacts) -> None:
    """Notes that a name is defined a second time: until then it stands for something else."""
    old = facts.functions.get(name) or facts.classes.get(name)
    if old is not None:
        facts.again.setdefault(name, [old]).append(new)


def split_lines(text: str) -> list[str]:
    """The text's lines with their ends, broken where Python's own parser breaks them (not at form feeds)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line + "\n" for line in lines]


def _simple(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr, ast.AugAssign))


def _conditional_classes(node: ast.stmt, facts: FileFacts) -> None:
    """Notes the classes that are defined under a condition, where that is the only thing their name stands for."""
    found: dict[str, list[ast.ClassDef]] = {}
    todo: list[ast.AST] = [node] if isinstance(node, (ast.If, ast.Try, ast.With)) else []
    while todo:
        for child in ast.iter_child_nodes(todo.pop()):
            if isinstance(child, ast.ClassDef):
                found.setdefault(child.name, []).append(child)
            elif isinstance(child, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                todo.append(child)
    for name, (cls, *others) in found.items():
        if not others and name not in facts.imports and name not in facts.functions and name not in facts.classes:
            facts.classes[name] = read_class(cls, set())
