"""A test's score that is taken by the very call of the validation's, while the data for the test are read nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.rules.base import View
from torchlint.rules.shared.forgotten_data import scope_text
from torchlint.rules.shared.surroundings import bound

_TEST, _VALIDATION = r"(?:test|testing)", r"(?:val|vali|valid|validation|dev)"
_WHAT_IS_GONE_THROUGH = r"(?:_?data)?_?(?:loader|dl|iter|iterator|gen|generator|batches|set|ds|data)"
_TESTS = re.compile(rf"(?:^|_){_TEST}(?:_|\d|$)", re.IGNORECASE)
_VALIDATES = re.compile(rf"(?:^|_){_VALIDATION}(?:_|\d|$)", re.IGNORECASE)
_FOR_TEST = re.compile(rf"^{_TEST}{_WHAT_IS_GONE_THROUGH}$", re.IGNORECASE)
_FOR_VALIDATION = re.compile(rf"^{_VALIDATION}{_WHAT_IS_GONE_THROUGH}$", re.IGNORECASE)


@dataclass(slots=True, frozen=True)
class Tested:
    """The statement that is to test, the one that validates by the same call, what both go over, and what was made for the test."""

    site: Site
    validated: Site
    over: str
    name: str


def tested_on_validation(view: View) -> Iterator[Tested]:
    """`test_f1 = score(model, val_loader)` beside `val_f1 = score(model, val_loader)`, where `test_loader` is read nowhere."""
    for parsed in view.trees():
        if not any(map(_TESTS.search, parsed.unit.binds)) or not any(map(_VALIDATES.search, parsed.unit.binds)):
            continue
        text = scope_text(parsed)
        name = next((name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text)) if _is_forgotten(name, parsed, text)), None)
        if name is None:
            continue
        scores = list(_scores(parsed))
        validations = {parsed.text(node.value): node for node, _ in scores if _is_all(_VALIDATES, _TESTS, bound(node))}
        for node, over in scores:
            same = validations.get(parsed.text(node.value))
            if same is not None and _is_all(_TESTS, _VALIDATES, bound(node)):
                yield Tested(Site(parsed, node), Site(parsed, same), over, name)


def _scores(parsed: Parsed) -> Iterator[tuple[cst.Assign, str]]:
    """The statements that give names what a call makes of the data for the validation, and what that is called."""
    for node in walk(parsed.module):
        if isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(node.value, cst.Call):
            for arg in node.value.args:
                if isinstance(arg.value, cst.Name) and _FOR_VALIDATION.match(arg.value.value):
                    yield node, arg.value.value
                    break


def _is_all(wanted: re.Pattern[str], other: re.Pattern[str], names: set[str]) -> bool:
    """Whether names say what they are of, and none that it is something else."""
    return any(map(wanted.search, names)) and not any(map(other.search, names))


def _is_forgotten(name: str, parsed: Parsed, text: str) -> bool:
    """Whether data for the test are made, or have to be given, and stand nowhere else."""
    if not _FOR_TEST.match(name) or len(re.findall(rf"(?<!\w){name}(?!\w)", text)) != 1:
        return False
    if re.search(rf"^\s*\(?(?:[\w.]+\s*,\s*)*{name}\s*(?:,\s*[\w.]+\s*)*\)?\s*=[^=]", text, re.MULTILINE):
        return True
    called = parsed.unit.name.rpartition(".")[2]
    functions = (node for node in walk(parsed.module) if isinstance(node, cst.FunctionDef) and node.name.value == called)
    return any(param.name.value == name and param.default is None for function in functions for param in function.params.params)
