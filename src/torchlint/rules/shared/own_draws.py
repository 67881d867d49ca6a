"""Which of the global random generators the items of a data set of the project draw from for certain."""

from __future__ import annotations

import re
from itertools import takewhile

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Func, Instance, Method, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.drawn_items import leaves_early
from torchlint.rules.shared.loaders import body_of

_NO_DRAW = r"(?!seed\b|default_rng|RandomState|Random\b|SystemRandom|Generator|get_?state|set_?state)"
# By the function that seeds it: how the text begins that draws from a global generator.
_FROM_NUMPYS = re.compile(rf"(?:np|numpy)\.random\.{_NO_DRAW}\w+$")
DRAWS = {
    "np.random.seed": _FROM_NUMPYS,
    "numpy.random.seed": _FROM_NUMPYS,
    "random.seed": re.compile(rf"random\.{_NO_DRAW}\w+$"),
    "torch.manual_seed": re.compile(r"torch\.(?:rand\w*|bernoulli|multinomial|normal)$"),
}
_SEEDS = frozenset({"seed", "manual_seed", "seed_everything", "set_seed", "fork_rng", "get_worker_info"})
_DEEPEST = 4


def item_draw(view: View, dataset: Instance, seeder: str) -> Site | None:
    """The call by which each item of a data set draws from what such a function seeds, in its own method or in what that calls, and
    under no condition but those that hold."""
    return _draw_in(view, dataset, *body_of(view, dataset.cls, "__getitem__"), DRAWS[seeder], 0)


def _draw_in(
    view: View, owner: Instance | None, definition: cst.FunctionDef | None, parsed: Parsed | None, draws: re.Pattern[str], depth: int
) -> Site | None:
    if not isinstance(definition, cst.FunctionDef) or depth > _DEEPEST or leaves_early(parsed, definition) or parsed.unit.words & _SEEDS:
        return None
    calls = [node for node in walk(definition.body) if isinstance(node, cst.Call) and _comes_to(view, owner, parsed, definition, node)]
    drawn = next((call for call in calls if draws.match(parsed.text(call.func))), None)
    if drawn is not None:
        return Site(parsed, drawn)
    for call in calls:
        found = _draw_in(view, *_called(view, owner, parsed, call.func), draws, depth + 1)
        if found is not None:
            return found
    return None


def _called(view: View, owner: Instance | None, parsed: Parsed, func: cst.BaseExpression):
    """What a call in such a method runs: the object whose method it is, its definition and the tree of it."""
    if isinstance(func, cst.Name):
        value = view.run.exported(func.value, parsed.facts)
        return (None, *view.run.definition(value)) if isinstance(value, Func) and value.node is None else (None, None, None)
    if owner is None or not isinstance(func, cst.Attribute) or not isinstance(func.value, cst.Name) or func.value.value != "self":
        return None, None, None
    definition, its = body_of(view, owner.cls, func.attr.value)
    if definition is not None:
        return owner, definition, its
    kept = [alt for value in _kept(view, owner, func.attr.value) for alt in real(value)]
    return _run_by(view, kept[0]) if len(kept) == 1 else (None, None, None)


def _run_by(view: View, kept: Value):
    """What an attribute runs that is called: an object of the project, or a method that an object has chosen for itself,
    `self.transform = self.distort`."""
    owner, name = (kept.owner, kept.name) if isinstance(kept, Method) else (kept, "__call__")
    if not isinstance(owner, Instance) or not isinstance(owner.cls, Class):
        return None, None, None
    return owner, *body_of(view, owner.cls, name)


def _kept(view: View, owner: Instance, name: str) -> list:
    return [change.value for change in view.of("setattr") if change.subject is owner and change.name == name]


def _comes_to(view: View, owner: Instance | None, parsed: Parsed, definition: cst.FunctionDef, node: cst.CSTNode) -> bool:
    """Whether a method comes to a node whatever it is given: what stands around it holds for this object."""
    inner = node
    for part in takewhile(lambda outer: outer is not definition, parsed.around(node)):
        if isinstance(part, (cst.FunctionDef, cst.Lambda, cst.Try, cst.TryStar, cst.Else, cst.ExceptHandler)):
            return False
        if isinstance(part, cst.If) and inner is part.body and not _holds(view, owner, parsed, part.test):
            return False
        if isinstance(part, cst.IfExp) and inner is not part.test and not (inner is part.body and _holds(view, owner, parsed, part.test)):
            return False
        if isinstance(part, cst.If) and inner is part.orelse:
            return False
        if isinstance(part, cst.BooleanOperation) and inner is part.right and not _holds(view, owner, parsed, part.left):
            return False
        inner = part
    return True


def _holds(view: View, owner: Instance | None, parsed: Parsed, test: cst.BaseExpression) -> bool:
    """`self.augment`, `self.mode == "train"`, `self.transform is not None`, of what the object was given."""
    if isinstance(test, cst.BooleanOperation):
        return isinstance(test.operator, cst.And) and all(_holds(view, owner, parsed, side) for side in (test.left, test.right))
    asked = _ASKED.fullmatch(parsed.text(test))
    values = _kept(view, owner, asked["name"]) if asked is not None and owner is not None else []
    alts = [alt for value in values for alt in (real(value) or (value,))]
    if asked is None or not alts:
        return False
    if asked["text"] is not None:
        return all(isinstance(alt, Const) and alt.value == asked["text"] for alt in alts)
    return all(isinstance(alt, (Instance, Method)) or isinstance(alt, Const) and bool(alt.value) for alt in alts)


_ASKED = re.compile(r"\(?self\.(?P<name>\w+)(?: is not None| == [\"'](?P<text>\w+)[\"'])?\)?")
