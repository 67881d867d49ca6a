"""A test's score that is taken by the very call of the validation's, while the data for the test are read nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.rules.base import View
from torchlint.rules.shared.class_around import class_around
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


_OF_SELF = re.compile(r"(?<![\w.])self\.(\w+)")
_SAYS_TEST = re.compile(r"(?:#|[\"'])[^\n]*(?<![A-Za-z_])(?:test|testing)(?![a-z_])", re.IGNORECASE)
_SAYS_VALIDATION = re.compile(r"(?<![A-Za-z])vali?d", re.IGNORECASE)


def tested_in_a_loop(view: View) -> Iterator[Tested]:
    """A second `for x, y in self.valid_loader:` behind the training, under a heading that says that it tests and with the best weights
    loaded, where `self.test_loader` is kept and read nowhere."""
    for parsed in view.trees():
        if not any(map(_FOR_VALIDATION.match, parsed.unit.words)):
            continue  # who asks for the lines of a file is judged anew with each comment in it
        cls = class_around(parsed)
        name = _kept_in_vain(parsed.facts.lines[cls.start - 1 : cls.end]) if cls is not None else None
        if name is None:
            continue
        loops = [(node, over) for node in walk(parsed.module) if isinstance(node, cst.For) and (over := _validation_of_self(parsed, node))]
        for node, over in loops:
            start = parsed.location(node).row
            first = next((other for other, same in loops if same == over and _ends_before(parsed, other, start)), None)
            if first is not None and _is_said_to_test(parsed, first, start):
                yield Tested(Site(parsed, node.iter), Site(parsed, first.iter), over, f"self.{name}")


def _kept_in_vain(lines: list[str]) -> str | None:
    """The data for the test that an object keeps of what it was given, and that nothing in its class asks for again."""
    text = "".join(line.split("#", 1)[0].rstrip("\n") + "\n" for line in lines)
    names = [name for name in _OF_SELF.findall(text) if _FOR_TEST.match(name)]
    kept = (name for name in names if names.count(name) == 1 and re.search(rf"^\s*self\.{name}\s*=\s*\w+\s*$", text, re.MULTILINE))
    return None if re.search(r"\bgetattr\(|__dict__", text) else next(kept, None)


def _validation_of_self(parsed: Parsed, node: cst.For) -> str | None:
    found = [name for name in _OF_SELF.findall(parsed.text(node.iter)) if _FOR_VALIDATION.match(name)]
    return f"self.{found[0]}" if len(found) == 1 else None


def _ends_before(parsed: Parsed, loop: cst.For, row: int) -> bool:
    """Whether a loop within another one, that of the epochs, is over, and so is the other one."""
    outer = _outermost(parsed, loop)
    return outer is not loop and (parsed.location(outer).end_row or row) < row


def _outermost(parsed: Parsed, loop: cst.For) -> cst.CSTNode:
    around = [node for node in parsed.around(loop) if isinstance(node, (cst.For, cst.While))]
    return around[-1] if around else loop


def _is_said_to_test(parsed: Parsed, first: cst.For, row: int) -> bool:
    """Whether a heading between the training and a loop speaks of the test, and of no validation; and weights are loaded there."""
    between = "".join(parsed.facts.lines[parsed.location(_outermost(parsed, first)).end_row : row - 1])
    return "load_state_dict(" in between and bool(_SAYS_TEST.search(between)) and not _SAYS_VALIDATION.search(between)


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
