"""The `call` form: a call of a name, with or without some argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchlint.dryrun.flow import Event
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.values import Const, Opaque, real
from torchlint.rules.base import Report, View
from torchlint.rules.mend import Mend, replace, with_argument
from torchlint.rules.saved_objects import wants_objects

# Tests load files that they have written themselves.
TEST_FILE = re.compile(r"(?:^|/)tests?/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")


# Conditions that tell training from evaluation, and a return under one of them.
_MODE_WORD = r"(?:train|eval|test|infer|phase|mode)"
MODE = re.compile(_MODE_WORD, re.IGNORECASE)
LEAVES = re.compile(
    rf"\bif\b[^\n]*{_MODE_WORD}[^\n]*:\s*(?:#[^\n]*\n\s*)?(?:[^\n]*\n[ \t]*)?return\b", re.IGNORECASE
)


def names(table: dict[str, Any]) -> frozenset[str]:
    """The qualified names that a `call` table speaks of."""
    given = table["name"]
    return frozenset(canonical(name) for name in ([given] if isinstance(given, str) else given))


def check(view: View, code: int, table: dict[str, Any]) -> Iterator[Report]:
    """The reports of one `call` table on one run."""
    if "torch" in table and not applies(table["torch"], view.torch_version):
        return
    wanted = names(table)
    for event in view.of("call"):
        if event.name not in wanted:
            continue
        if table.get("outside") == "tests" and TEST_FILE.search(event.site.path.replace("\\", "/")):
            continue
        if table.get("round_trip") == "silent" and _written_here(view, event):
            continue
        if table.get("inside") == "module" and not _in_every_mode(event):
            continue
        missing = table.get("missing")
        if missing is not None:
            words = [missing] if isinstance(missing, str) else missing
            if any(word in event.kwargs for word in words) or "**" in event.kwargs or "*" in event.kwargs:
                continue
            if "position" in table and len(event.args) > table["position"]:
                continue
        if "argument" in table:
            value = event.kwargs.get(table["argument"])
            if not isinstance(value, Const) or value.value is not table["value"]:
                continue
        yield Report(code, event.site, {"call": view.call_text(event.site)}, mend=_mend(view, event.site, table))


def _mend(view: View, site: Site, table: dict[str, Any]) -> Mend | None:
    """The table's `fix`, a keyword argument to be given, as a change of this call; with `fix_beside`, only where the same
    function uses that word."""
    given, beside = table.get("fix"), table.get("fix_beside")
    call = site.node
    if given is None or not isinstance(call, cst.Call) or beside and beside not in site.parsed.unit.words:
        return None
    if table.get("round_trip") is not None and wants_objects(view, site):
        return None  # the program's own files would be refused
    if "self." in given and site.parsed.unit.params[:1] != ("self",):
        return None
    safe = not table.get("unsafe", False)
    name, _, value = given.partition("=")
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return Mend(f"pass `{given}`", [replace(site, value, arg.value)], safe)
    change = with_argument(site, given)
    return Mend(f"pass `{given}`", [change], safe) if change is not None else None


def applies(bound: str, version: tuple[int, int] | None) -> bool:
    """Whether a bound such as "<2.6" holds for the project's torch. Where the version is not known, it does not."""
    if version is None:
        return False
    number = tuple(int(part) for part in bound.lstrip("<>=").split("."))[:2]
    return version < number if bound.startswith("<") else version >= number


def _written_here(view: View, event: Event) -> bool:
    """Whether what is read was written by the same run, or lies in memory: nobody else's file."""
    for given in real(event.args[0]) if event.args else ():
        if isinstance(given, Opaque) and given.name in ("io.BytesIO", "BytesIO"):
            return True
        if any(len(save.args) > 1 and given in real(save.args[1]) for save in view.of("save")):
            return True
    return False


def _in_every_mode(event: Event) -> bool:
    """Whether a call in a module's own code is met in evaluation as well: nothing about a mode lies around it."""
    if not event.get("in_module") or any(MODE.search(site.text()) for site, _ in event.guards):
        return False
    return not _left_before(event)


def _left_before(event: Event) -> bool:
    """Whether evaluation has left the function before it comes to the call: `if not self.training: return x`."""
    unit, lines = event.site.parsed.unit, event.site.parsed.facts.lines
    if not LEAVES.search("".join(lines[unit.start - 1 : unit.end])):
        return False  # most do not: where the call stands takes a walk over the tree
    return bool(LEAVES.search("".join(lines[unit.start - 1 : event.site.location().row - 1])))
