"""502: a plain tensor attribute that forward uses does not move with the model."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Class, Event, Instance, Tensor, real
from torchlint.files.project import without_comments
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, code_of, replace
from torchlint.rules.mends.rows import statement_at
from torchlint.rules.shared.devices import made_on_default

CODE = 502
_TRAINED = re.compile(r"weight|bias|kernel|param|alpha|beta|gamma|^[wbW]\d*$", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """A tensor made in __init__ on the default device meets an input in another method."""
    met = list(made_on_default(view))
    kept = {}
    for event in view.of("setattr") if met else ():
        owner = event.subject
        if not isinstance(owner, Instance) or owner.kind != "module" or not isinstance(owner.cls, Class):
            continue
        made = [alt for alt in real(event.value) if isinstance(alt, Tensor) and "made" in alt.traits and not alt.traits.get("leaf")]
        if made and not _moved_by_hand(owner.cls, event.name):
            kept |= {id(alt): event for alt in made}
    for event, tensor in met if kept else ():
        origin = tensor
        while id(origin) not in kept and isinstance(origin, Tensor) and isinstance(origin.origin, Tensor):
            origin = origin.origin
        change = kept.get(id(origin))
        if change is None or change.site.parsed.unit.name != "__init__" or event.site.parsed.unit.name == "__init__":
            continue
        if _given_from_outside(view, change):
            continue
        related = [(event.site, "it meets what moves with the model here")]
        yield Report(CODE, change.site, {"name": f"self.{change.name}"}, related, _mend(change))


def _given_from_outside(view: View, event: Event) -> bool:
    """Whether the file, or one that imports it, assigns the attribute of an object: what is a Parameter then is
    registered by `Module.__setattr__`, which takes the plain tensor away, and what is none may have been moved."""
    facts = event.site.parsed.facts
    assigned = re.compile(rf"\b(?!self\b)\w+(?:\[\w*\])?\.{event.name}[ \t]*=[^=]")
    if assigned.search(without_comments(facts.lines)):
        return True
    project = view.run.world.project_of(facts.path)
    return project is not None and any(assigned.search(user.code) for user in project.users(facts.path))


def _mend(event: Event) -> Mend | None:
    """Registers it as a buffer where it is made, and leaves it out of checkpoints: those written before still load. What
    is random, or called a weight, may have been meant for a parameter."""
    node, place = event.site.node, statement_at(event.site)
    if not isinstance(node, cst.Assign) or len(node.targets) != 1 or place is None:
        return None
    function = place.parents[-1]
    cls = place.parents[-2] if len(place.parents) > 1 else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(cls, ast.ClassDef) or not _alone(cls, event.name):
        return None
    before = [ast.unparse(item) for item in place.block[: place.index]]
    target = code_of(event.site, node.targets[0].target)
    if not any("__init__" in text for text in before) or target != f"self.{event.name}":
        return None
    value = code_of(event.site, node.value)
    if value in event.site.parsed.unit.params:
        return None  # another caller may give no tensor
    if _TRAINED.search(event.name) or re.search(r"rand|normal|empty|bernoulli", value):
        return None
    call = f'self.register_buffer("{event.name}", {value}, persistent=False)'
    return Mend("register it as a buffer", [replace(event.site, call)], safe=False)


def _alone(cls: ast.ClassDef, name: str) -> bool:
    """Whether a class assigns an attribute in one place, and has nothing of its own by that name."""
    nodes = [node for node in ast.walk(cls) if isinstance(node, ast.Attribute) and node.attr == name]
    own = {getattr(item, "name", None) for item in cls.body}
    own |= {node.id for item in cls.body for node in _targets(item) if isinstance(node, ast.Name)}
    return name not in own and sum(not isinstance(node.ctx, ast.Load) for node in nodes) == 1


def _targets(item: ast.stmt) -> list[ast.expr]:
    return item.targets if isinstance(item, ast.Assign) else [item.target] if isinstance(item, ast.AnnAssign) else []


def _moved_by_hand(cls: Class, name: str) -> bool:
    """Whether the class moves the attribute in a `to`, `cuda` or `_apply` of its own."""
    methods = [unit for item in cls.mro() if isinstance(item, Class) for unit in item.cf.methods.values()]
    return any(unit.name in ("to", "cuda", "_apply") and unit.words & {name, "__dict__", "setattr", "vars"} for unit in methods)
