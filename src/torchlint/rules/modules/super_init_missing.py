"""503: a module is used before nn.Module.__init__ has run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import before
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Event, Func, Instance, Ref, Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend
from torchlint.rules.mends.rows import (
    docstring_end,
    first_row,
    indent_of,
    insert,
    overlap,
    removed,
    statement_at,
    tree_of,
)

CODE = 503


def check(view: View) -> Iterator[Report]:
    """The first layer assigned before the base's __init__, or an __init__ that never calls it."""
    root = view.run.root
    if root is None or root.name != "__init__" or root.home is None or not _plain_module(root.home):
        return
    if root.unit is not None and root.unit.words & {"__dict__", "__setstate__"}:
        return  # takes over what another module's __init__ has made
    yield from (report for report in _reports(view, root) if not _begun_elsewhere(view, report.site, root.home.name))


def _reports(view: View, root: Func) -> Iterator[Report]:
    inits = [event for event in view.of("super.init") if isinstance(event.subject, Instance) and event.subject.cls is root.home]
    early = None
    bare: dict[int, set[Event]] = {}
    for event in view.of("setattr"):
        owner = event.subject
        if not isinstance(owner, Instance) or owner.cls is not root.home or not _layer(event.value):
            continue
        if id(owner) not in bare:
            bare[id(owner)] = _before_init(view, owner)
        if event not in bare[id(owner)]:
            continue
        found, start = before(event, lambda other, owner=owner: _begins_object(other, owner))
        if start and not found:
            early = event
            break
    if inits:
        if early is not None:
            yield Report(CODE, early.site, {"name": root.home.name}, mend=_mend(early.site))
    elif early is not None or _does_something(root.home) and not view.of("unknown") and not view.run.graph.dead:
        definition, parsed = view.run.definition(root)
        if definition is not None and (early is not None or not _only_stands_in(definition, parsed, root.home.name)):
            related = [(early.site, "the first layer is assigned here")] if early is not None else []
            site = Site(parsed, definition.name)
            yield Report(CODE, site, {"name": root.home.name}, related, _mend(site))


def _only_stands_in(definition: cst.FunctionDef, parsed: Parsed, name: str) -> bool:
    """Whether an __init__ does nothing, and nobody in the file makes the object that would be none."""
    made = re.compile(rf"(?<!class )\b{re.escape(name)}\(")
    empty = all(isinstance(node, _NOTHING) for node in walk(definition.body))
    return empty and not made.search("".join(parsed.facts.lines))


_NOTHING = (cst.IndentedBlock, cst.SimpleStatementLine, cst.SimpleStatementSuite, cst.Pass, cst.Expr, cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis)


def _does_something(cls: Class) -> bool:
    """Whether a class has a method: one that has neither that nor layers only stands for a module."""
    return any(item.cf.methods.keys() - {"__init__"} for item in cls.mro() if isinstance(item, Class))


def _begins_object(event: Event, owner: Instance) -> bool:
    return event.kind in ("super.init", "unknown.init") and event.subject is owner


def _before_init(view: View, owner: Instance) -> set[Event]:
    """The events that some path comes to before it comes to the __init__ of the base, whatever its conditions: few, and
    found in one walk for all layers."""
    found: set[Event] = set()
    todo = [event for event in view.run.graph.events if not event.prev] + list(view.run.graph.start.next)
    while todo:
        event = todo.pop()
        if event not in found:
            found.add(event)
            todo.extend(() if _begins_object(event, owner) else event.next)
    return found


def _begun_elsewhere(view: View, site: Site, name: str) -> bool:
    """Whether somebody else may run nn.Module.__init__ on an object of the class first: a class that derives from it, in
    the file or in one that imports it, or a function that makes the object by hand."""
    facts = site.parsed.facts
    project = view.run.world.project_of(facts.path)
    texts = ["".join(facts.lines), *(user.code for user in (project.users(facts.path) if project is not None else ()) if name in user.code)]
    return any(_begins(text, name) for text in texts)


def _begins(text: str, name: str) -> bool:
    try:
        tree = tree_of(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    nodes = list(ast.walk(tree))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    derived = {name} | {alias.asname for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names if alias.name == name}
    while True:
        more = {one.name for one in classes if derived & set(map(_last_name, one.bases))} - derived
        if not more:
            break
        derived |= more
    for one in classes:
        if one.name != name and derived & set(map(_last_name, one.bases)):
            by_hand = any(_BEGINS.search(ast.unparse(item)) or f"super({name}" in ast.unparse(item) for item in one.body)
            if by_hand or len(one.bases) > 1 or one.keywords or one.decorator_list:
                return True
    outside = [item for item in tree.body if not isinstance(item, ast.ClassDef)]
    return any(_OUTSIDE.search(ast.unparse(item)) for item in outside)


_BEGINS = re.compile(r"\bModule\.__init__\b|\bdef (?:__new__|__init_subclass__|__post_init__)\b")
_OUTSIDE = re.compile(r"\bModule\.__init__\b|\.__init__ = ")


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _mend(site: Site) -> Mend | None:
    """Calls the base's __init__ before everything else, where nn.Module is the only base: it takes no arguments."""
    place = statement_at(site)
    around = [*place.parents, place.statement] if place is not None else []
    at = next((index for index in reversed(range(len(around))) if isinstance(around[index], ast.FunctionDef)), 0)
    cls = around[at - 1] if at else None
    if not isinstance(cls, ast.ClassDef) or [ast.unparse(base) for base in cls.bases] not in _MODULE:
        return None
    function, parsed = around[at], site.parsed
    body = function.body[docstring_end(function) :]
    if not body or body[0].lineno <= function.lineno or first_row(body[0]) != body[0].lineno:
        return None
    late = next((item for item in body if _calls_base(item)), None)
    row = body[0].lineno
    indent = indent_of(parsed, row)
    if late is None:
        if "super" in {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}:
            return None
        return Mend("call `super().__init__()` first", [insert(parsed, row, f"{indent}super().__init__()\n")])
    if late is body[0] or any(item is not late and overlap(item, late) for item in body):
        return None
    text = "".join(parsed.facts.lines[late.lineno - 1 : late.end_lineno])
    changes = [insert(parsed, row, text), removed(parsed, late.lineno, late.end_lineno)]
    return Mend("call `super().__init__()` first", changes)


_MODULE = (["nn.Module"], ["torch.nn.Module"], ["Module"])


def _calls_base(item: ast.stmt) -> bool:
    """Whether a statement is `super().__init__()` or `super(Net, self).__init__()`."""
    call = item.value if isinstance(item, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or call.keywords or not isinstance(call.func, ast.Attribute):
        return False
    owner = call.func.value
    return call.func.attr == "__init__" and isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super"


def _plain_module(cls: Class) -> bool:
    """Whether all bases are known, the outermost is nn.Module, and no metaclass or decorator steps in."""
    externals = cls.externals()
    if not externals or any(name != "torch.nn.Module" for name in externals):
        return False
    own = [item.cf for item in cls.mro() if isinstance(item, Class)]
    return not any(item.keywords or item.decorators or _MAKERS & item.methods.keys() for item in own)


_MAKERS = frozenset({"__new__", "__init_subclass__"})


def _layer(value) -> bool:
    return any(
        isinstance(alt, Instance) and alt.kind in ("module", "loss", "wrapper") and isinstance(alt.cls, (Ref, Class))
        or isinstance(alt, Tensor) and alt.traits.get("param")
        for alt in real(value)
    )
