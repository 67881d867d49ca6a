"""Where else a tensor may have been put: by the model that it is given to, or by a method that moves its object."""

from __future__ import annotations

import ast
import re
import textwrap

from torchlint.dryrun.values import Class, Instance, Tensor, Value
from torchlint.dryrun.world import units_of


def places_itself(module: Value, index: int) -> bool:
    """Whether a model of the project puts its argument number `index` on a device in its own forward, or has a use for
    it that wants the CPU: lengths of packed sequences."""
    if not isinstance(module, Instance) or not isinstance(module.cls, Class):
        return False
    found = module.cls.method("forward")
    if found is None:
        return False
    cls, unit = found
    text = textwrap.dedent("".join(cls.facts.lines[unit.start - 1 : unit.end]))
    try:
        names = [arg.arg for arg in ast.parse(text).body[0].args.args][1:]
    except (SyntaxError, AttributeError, IndexError):
        return False
    if index >= len(names):
        return False
    name = re.escape(names[index])
    return bool(re.search(rf"\b{name}\.(?:to|cuda|cpu)\(|pack_padded_sequence\([^()]*,\s*{name}\b", text))


def moved_elsewhere(tensor: Tensor) -> bool:
    """Whether a tensor was made for an attribute that another method of the file puts on a device."""
    site = tensor.sites.get("made")
    if site is None:
        return False
    lines = site.parsed.facts.lines
    row = site.location().row
    target = re.match(r"\s*self\.(\w+)\s*=", lines[row - 1]) if row <= len(lines) else None
    if target is None:
        return False
    moved = re.compile(rf"self\.{target[1]}\s*=\s*self\.{target[1]}\.(?:to|cuda)\(")
    return any(
        unit is not site.parsed.unit and target[1] in unit.sets
        and any(moved.search(line) for line in lines[unit.start - 1 : unit.end])
        for unit in units_of(site.parsed.facts)
    )
