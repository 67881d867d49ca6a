"""605: each item converts the whole array."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Func
from torchlint.rules.base import Report, View

CODE = 605
_COPIES = frozenset({"tensor", "Tensor", "FloatTensor", "LongTensor", "DoubleTensor", "IntTensor"})


def check(view: View) -> Iterator[Report]:
    """`torch.tensor(self.images)[index]` in `__getitem__`."""
    root = view.run.root
    cls = root.home if root is not None else None
    if cls is None or "__getitem__" not in cls.cf.methods:
        return
    definition, parsed = view.run.definition(Func("__getitem__", cls.facts, cls.cf.methods["__getitem__"], cls))
    if definition is None or len(definition.params.params) != 2:
        return
    index = definition.params.params[1].name.value
    for node in walk(definition.body):
        if isinstance(node, cst.Subscript) and _copies_attribute(node.value, parsed) and _uses(node, index, parsed):
            site = Site(parsed, node)
            name = parsed.text(node.value.args[0].value)
            yield Report(CODE, site, {"call": view.call_text(Site(parsed, node.value)), "name": name})


def _copies_attribute(node: cst.BaseExpression, parsed: Parsed) -> bool:
    """Whether a call makes a new tensor of all of `self.something`."""
    if not isinstance(node, cst.Call) or not node.args:
        return False
    head, _, last = parsed.text(node.func).rpartition(".")
    given = node.args[0].value
    of_self = isinstance(given, cst.Attribute) and isinstance(given.value, cst.Name) and given.value.value == "self"
    return head == "torch" and last in _COPIES and of_self


def _uses(node: cst.Subscript, index: str, parsed: Parsed) -> bool:
    return any(parsed.text(element).strip(", ").startswith(index) for element in node.slice)
