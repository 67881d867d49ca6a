"""Data sets of the project that change each of their items at random by themselves, in whatever mode they are."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Func, Instance, Opaque
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import body_of, calls_always_made, written

# What changes an image or a clip; not what draws another item, such as the second of a pair.
_CHANGES = re.compile(r"crop|flip|rotat|jitter|augment|distort|shear|eras(?:e|ing)|mirror|affine", re.IGNORECASE)
_DRAWN = re.compile(r"\brandom\.(?!seed)\w+\(|\bnp\.random\.(?!seed)\w+\(|\btorch\.rand\w*\(")
_ASKS = re.compile(r"\bif\b[^\n]*(?:train|mode|split|phase|val|test|aug)", re.IGNORECASE)
_ASKED = re.compile(r"train|mode|split|phase|valid|test|\baug", re.IGNORECASE)
_FOR_TESTS = re.compile(r"(?:^|_)(?:test|val|valid|eval)|(?-i:Test|Val|Eval)", re.IGNORECASE)


def changed_at_random(view: View, dataset: Instance) -> Opaque | None:
    """`x = self.random_crop(x)` in `__getitem__`, under no condition: the method, or the function of the file, that draws."""
    definition, parsed = body_of(view, dataset.cls, "__getitem__")
    if _FOR_TESTS.search(dataset.cls.name):
        return None  # it was written for this
    if definition is None or _leaves_early(parsed, definition):
        return None
    for call in calls_always_made(definition.body):
        func = call.func
        of_self = isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == "self"
        name = func.attr.value if of_self else func.value if isinstance(func, cst.Name) else ""
        if not _CHANGES.search(name):
            continue
        if of_self:
            found, its = body_of(view, dataset.cls, name)
        else:
            value = view.run.exported(name, parsed.facts)
            found, its = view.run.definition(value) if isinstance(value, Func) and value.node is None else (None, None)
        asked = _ASKED.search(parsed.text(call)) is not None or found is not None and _ASKS.search(written(its, found)) is not None
        if found is not None and not asked and _DRAWN.search(written(its, found)):
            return Opaque(name, "call", Site(its, found))
    return None


def _leaves_early(parsed: Parsed, definition: cst.FunctionDef) -> bool:
    """Whether a method that asks for the mode may end where it does: what stands behind is not for all modes."""
    asking = (node for node in walk(definition.body) if isinstance(node, cst.If) and _ASKS.search(f"if {parsed.text(node.test)}"))
    return any(isinstance(inner, cst.Return | cst.Raise) for node in asking for inner in walk(node.body))
