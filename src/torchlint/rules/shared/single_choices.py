"""Whether a model with batch norm is asked about one sample, for which of its outputs is the highest: what an agent does next."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.values import FALSE, Event, Instance, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.readouts import comes_from

# With one sample alone, that of 1-D data raises an error in training mode.
_NORMS = frozenset({"torch.nn.BatchNorm2d", "torch.nn.BatchNorm3d"})
_HIGHEST = frozenset({"argmax", "indices"})
_PASSES = frozenset({"cpu", "data", "detach", "long", "int", "squeeze", "to"})


def chooses_for_one(view: View, event: Event) -> bool:
    """Whether a forward without gradients is asked for one index, `net(state).max(1)[1].view(1, 1)`, `net(state).argmax().item()`, by a
    model whose batch norm keeps statistics: it normalises the sample by itself, and moves them towards it."""
    if event.grad is not False or not any(map(_norms_by_the_batch, view.run.within(event.subject))):
        return False
    read = [other for other in view.of("readout") if any(comes_from(event, alt) for alt in real(other.subject))]
    picks = [other for other in read if other.name in _HIGHEST]
    return bool(picks) and all(_is_made_one(other.site.parsed, other.site.node) if other in picks else other.name == "item" for other in read)


def _norms_by_the_batch(part: Value) -> bool:
    if not isinstance(part, Instance) or part.type not in _NORMS or "**" in part.kwargs:
        return False
    return part.arg(4, "track_running_stats") is not FALSE


def _is_made_one(parsed: Parsed, pick: cst.CSTNode) -> bool:
    """Whether the index that a call picks is used as a single one: by the methods behind it, or behind the name that it is given."""
    if isinstance(pick, cst.Assign):
        return _named_one(parsed, pick)  # `_, best = net(state).max(1)`
    node = pick
    for outer in parsed.around(pick):
        if isinstance(outer, cst.Attribute) and outer.value is node:
            if outer.attr.value == "item":
                return True
            if outer.attr.value not in _PASSES and outer.attr.value not in ("view", "reshape"):
                return False
        elif isinstance(outer, cst.Call) and outer.func is node:
            if node.attr.value in ("view", "reshape"):
                return _all_ones(outer)
        elif isinstance(outer, cst.Call):
            return isinstance(outer.func, cst.Name) and outer.func.value == "int"
        elif isinstance(outer, cst.Assign) and outer.value is node:
            return _named_one(parsed, outer)
        elif not isinstance(outer, cst.Arg):
            return False
        node = outer
    return False


def _named_one(parsed: Parsed, statement: cst.Assign) -> bool:
    """Whether what a statement gives a name to, the last of several, is made a number by that name in the same function."""
    target = statement.targets[0].target
    if isinstance(target, cst.Tuple) and target.elements:
        target = target.elements[-1].value
    if len(statement.targets) != 1 or not isinstance(target, cst.Name):
        return False
    lines = parsed.facts.lines[parsed.unit.start - 1 : parsed.unit.end]
    asked = re.compile(rf"(?<![\w.]){target.value}\.item\(\)")
    return any(asked.search(line.split("#", 1)[0]) for line in lines)


def _all_ones(call: cst.Call) -> bool:
    """Whether a shape of one number alone is asked for: `view(1, 1)`."""
    return bool(call.args) and all(isinstance(arg.value, cst.Integer) and arg.value.value == "1" for arg in call.args)
