"""Whether a training begins with weights out of a file that it writes itself: then it goes on from them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, real
from torchlint.rules.base import View
from torchlint.rules.mends.rows import call_at, text_of
from torchlint.rules.shared.blocks import exclude_each_other
from torchlint.rules.shared.file_names import Bindings, Hole, Name, bindings_of, numbered, one_file
from torchlint.rules.shared.newest_files import newest_of
from torchlint.rules.shared.read_states import read_as_it_is

_LONG_ENOUGH = 4
_SAVER = re.compile(r"save|store|dump|checkpoint|ckpt|snapshot", re.IGNORECASE)


def read_in(load: Event) -> tuple[Site, str] | None:
    """The `torch.load` that a model was filled from, and the text of what it reads; where that is whatever a helper is given, the
    call that gives it."""
    for site in read_as_it_is(load.get("state")):
        call = _call(site)
        if call is not None:
            return _given(load, site, call.args[0])
    return None


def _given(load: Event, site: Site, value: ast.expr) -> tuple[Site, str]:
    try:
        names = bindings_of(text_of(site.parsed))
    except (SyntaxError, ValueError, RecursionError):
        return site, ast.unparse(value)
    for outer in reversed(load.calls):
        if outer.parsed.facts is not site.parsed.facts:
            break
        function = names.scope_at(site.location().row)
        param, call = names.parameter(value, function), _call(outer)
        given = names.argument(call, function, param) if call is not None and param is not None else None
        if given is None:
            break
        site, value = outer, given
    return site, ast.unparse(value)


def written_again(view: View, site: Site, source: str, step: Event, behind: Site | None, begun: bool = False) -> bool:
    """Whether the training around a step writes the file that is read at a place, or one that is numbered like it, as the text shows.
    `behind` is the loop, or what leads to it, where it stands in the same function as the load; `begun` tells
    that the load is done where an object is made."""
    try:
        names = bindings_of(text_of(site.parsed))
        value = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return False
    lines, row = site.parsed.facts.lines, site.location().row
    scope = names.scope_at(row)
    read = names.name(value, scope)
    first = behind.location().row if behind is not None else row
    found = False
    trains = _functions_of(names, site, step)
    if any(exclude_each_other(lines, row, called) for called in _calls(names, lines, scope, trains - {scope})):
        return False
    for path, saved, at in names.saves:
        written = names.name(path, at)
        if not one_file(read, written) and not numbered(read, written) and not newest_of(names, value, scope, written):
            continue
        if exclude_each_other(lines, row, saved):
            continue
        if at == scope:
            if saved < first:
                return False  # what the program itself has just written
            found = True
        elif at in trains or begun and _is_saver(names, at, trains) or any(
            called >= first or start != scope for start in trains for called in _calls(names, lines, start, {at})
        ):
            found = True
    return found


def _functions_of(names: Bindings, site: Site, step: Event) -> set[int]:
    """The functions of a file, by their rows, that a training goes through."""
    places = (step.site, *step.calls, *(loop.site for loop in step.loops))
    return {names.scope_at(place.location().row) for place in places if place is not None and place.parsed.facts is site.parsed.facts}


def _is_saver(names: Bindings, at: int, trains: set[int]) -> bool:
    """Whether a method does nothing but save for the object that trains."""
    name = next((name for start, _, name in names.functions if start == at), "")
    return _SAVER.search(name) is not None and at in names.classes and any(names.classes.get(one) is names.classes[at] for one in trains)


def _calls(names: Bindings, lines: list[str], scope: int, functions: set[int]) -> Iterator[int]:
    """The rows of a function in which others are called, by their names."""
    called = "|".join(re.escape(name) for start, _, name in names.functions if start in functions)
    end = next((end for start, end, _ in names.functions if start == scope), len(lines))
    wanted = re.compile(rf"(?<!def )\b(?:{called})\(")
    for row in range(scope + 1, end + 1) if called else ():
        if wanted.search(lines[row - 1].split("#", 1)[0]) and names.scope_at(row) == scope:
            yield row


def is_literal(site: Site, source: str) -> bool:
    """Whether the name of what is read stands in the program, letter by letter."""
    try:
        names = bindings_of(text_of(site.parsed))
        value = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return False
    return all(isinstance(part, str) for part in names.name(value, names.scope_at(site.location().row)))


def named_by(site: Site, number: str | None) -> bool:
    """Whether a call is given the name of a file that a number is put into, on whatever line: `f"model_{args.start_epoch}.pt"`."""
    call = call_at(site)
    if call is None or number is None or not re.search(r"start|resum|begin|last|init", number, re.IGNORECASE):
        return False
    try:
        names = bindings_of(text_of(site.parsed))
    except (SyntaxError, ValueError, RecursionError):
        return False
    scope = names.scope_at(site.location().row)
    args = (*call.args, *(keyword.value for keyword in call.keywords))
    given = [part for arg in args for part in ast.walk(arg) if isinstance(part, (ast.Name, ast.Attribute))]
    return any(len(name) > 1 and Hole(number) in name for part in given for name in [tuple(_without_scope(names.name(part, scope)))])


def _without_scope(name: Name) -> Iterator[str | Hole]:
    return (Hole(part.text) if isinstance(part, Hole) else part for part in name)


def writes_what_it_read(view: View, load: Event, step: Event) -> bool:
    """The same by the values: the path that the load was given is given to a `torch.save` that comes with the training."""
    sites = set(read_as_it_is(load.get("state")))
    read = [alt for event in view.of("call") if event.name == "torch.load" and event.site in sites and event.args for alt in real(event.args[0])]
    texts = {alt.value for alt in read if isinstance(alt, Const)}
    found = False
    for save in view.of("save"):
        for alt in real(save.args[1]) if len(save.args) > 1 else ():
            same = any(alt is one for one in read) if not isinstance(alt, Const) else alt.value in texts and len(str(alt.value)) >= _LONG_ENOUGH
            if same and save.serial < load.serial:
                return False
            found = found or same and (save.serial > step.serial or bool(save.loops) and save.loops[:1] == step.loops[:1])
    return found


def _call(site: Site) -> ast.Call | None:
    """The call at a place, where it is given something by position."""
    call = call_at(site)
    return call if call is not None and call.args else None
