"""The `call` form: a call of a name, with or without some argument."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Const, Event, Opaque, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, replace, with_argument
from torchlint.rules.shared.every_mode import in_every_mode
from torchlint.rules.shared.loaded_states import feeds_states
from torchlint.rules.shared.saved_objects import wants_objects
from torchlint.rules.shared.surroundings import bound


def names(table: dict[str, Any]) -> frozenset[str]:
    """The qualified names that a `call` table speaks of."""
    given = table["name"]
    return frozenset(canonical(name) for name in ([given] if isinstance(given, str) else given))


def check(view: View, code: int, table: dict[str, Any]) -> Iterator[Report]:
    """The reports of one `call` table on one run."""
    if "torch" in table and not view.runs_below(table["torch"]):
        return
    wanted = names(table)
    for event in view.of("call"):
        if event.name not in wanted:
            continue
        missing = table.get("missing")
        if missing is not None:
            words = [missing] if isinstance(missing, str) else missing
            if any(word in event.kwargs for word in words) or "**" in event.kwargs or "*" in event.kwargs:
                continue
            if "position" in table and len(event.args) > table["position"]:
                continue
        if "argument" in table:
            if not _gives(event, table):
                continue
        if table.get("round_trip") == "silent" and _written_here(view, event):
            continue
        if table.get("inside") == "module" and not in_every_mode(event):
            continue
        yield Report(code, event.site, {"call": view.call_text(event.site), "then": ""}, mend=_mend(view, event, table))


def _gives(event: Event, table: dict[str, Any]) -> bool:
    """Whether the call certainly gives the value of the table for its argument, by name or by place."""
    given = event.kwargs.get(table["argument"])
    position = table.get("position")
    if given is None and position is not None and "*" not in event.kwargs and position < len(event.args):
        given = event.args[position]
    wanted, alts = table["value"], real(given)
    return bool(alts) and all(isinstance(alt, Const) and _same(alt.value, wanted) for alt in alts)


def _same(value: Any, wanted: Any) -> bool:
    """Whether two literals are equal; 1 is 1.0, and is not True."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    numbers = isinstance(value, (int, float)) and isinstance(wanted, (int, float))
    return (numbers or type(value) is type(wanted)) and value == wanted


def _mend(view: View, event: Event, table: dict[str, Any]) -> Mend | None:
    """The table's `fix`, a keyword argument to be given, as a change of this call; with `fix_beside`, only where the same
    function uses that word."""
    given, beside, site = table.get("fix"), table.get("fix_beside"), event.site
    call = site.node
    if given is None or not isinstance(call, cst.Call) or beside and beside not in site.parsed.unit.words:
        return None
    if table.get("round_trip") is not None and wants_objects(view, site):
        return None  # the program's own files would be refused
    if beside == "load_state_dict" and not feeds_states(site):
        return None  # what else is read may be no weights
    if not _is_named(call.func, site):
        return None  # `self.checkpoint = checkpoint if ... else lambda f, x: f(x)`: the other one takes no such argument
    if "self." in given and not (event.get("of_module") and self_stays(site)):
        return None
    safe = not table.get("unsafe", False)
    name, _, value = given.partition("=")
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == name:
            return Mend(f"pass `{given}`", [replace(site, value, arg.value)], safe)
    change = with_argument(site, given)
    return Mend(f"pass `{given}`", [change], safe) if change is not None else None


def _is_named(function: cst.BaseExpression, site: Site) -> bool:
    """Whether what is called is written as a name that the file imports, and imports once."""
    while isinstance(function, cst.Attribute):
        function = function.value
    facts = site.parsed.facts
    name = function.value if isinstance(function, cst.Name) else ""
    return name in facts.imports and name not in facts.instead and name not in facts.functions


def self_stays(site: Site) -> bool:
    """Whether `self` is the object whose method a place stands in: no other function or name of that name lies between."""
    unit = site.parsed.unit
    if unit.params[:1] != ("self",) or unit.decorators and not set(unit.decorators) <= _OF_METHODS:
        return False
    around = [node for node in site.parsed.around(site.node) if isinstance(node, (cst.FunctionDef, cst.Lambda, cst.BaseComp, cst.ClassDef))]
    inner = [node.params if isinstance(node, cst.FunctionDef) else node for node in around if not _is_method(node, site)]
    return "self" not in unit.binds and not any(_binds_self(node) for node in inner)


def _is_method(node: cst.CSTNode, site: Site) -> bool:
    return isinstance(node, cst.FunctionDef) and any(node is item for item in site.parsed.body)


def _binds_self(node: cst.CSTNode) -> bool:
    """Whether a part of a method has a `self` of its own."""
    return "self" in bound(node) or any(isinstance(item, cst.Param) and item.name.value == "self" for item in walk(node))


_OF_METHODS = frozenset({"property", "override", "typing.override", "torch.no_grad", "autocast", "torch.jit.export"})


def _written_here(view: View, event: Event) -> bool:
    """Whether what is read was written by the same run, or lies in memory: nobody else's file."""
    for given in real(event.args[0]) if event.args else ():
        if isinstance(given, Opaque) and given.name in ("io.BytesIO", "BytesIO"):
            return True
        if any(len(save.args) > 1 and given in real(save.args[1]) for save in view.of("save")):
            return True
    path = _argument(event, 0)
    return path != "" and any(save.serial < event.serial and _argument(save, 1) == path for save in view.of("save"))


def _argument(event: Event, place: int) -> str:
    """An argument of a call as it is written, where it is more than a name: `folder + "/head.pt"`."""
    node = event.site.node
    given = node.args[place].value if isinstance(node, cst.Call) and len(node.args) > place else None
    return "" if given is None or isinstance(given, cst.Name) else event.site.parsed.text(given)
