"""Where a function that makes a loader is told not to shuffle: `get_loader(train_set, is_shuffle=False)`."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Instance
from torchlint.rules.base import View
from torchlint.sieve.facts import Unit


@dataclass(slots=True, frozen=True)
class Asked:
    """The call that says so, and what the function calls it."""

    site: Site
    name: str


def asked_in_order(view: View, loader: Instance, shuffle: cst.BaseExpression | None) -> Asked | None:
    """The call of the function around a loader that gives it False, where the function hands that on."""
    made = next((event for event in view.of("loader.create") if event.subject is loader), None)
    caller = made.calls[-1] if made is not None and made.calls else None
    if caller is None or not isinstance(shuffle, cst.Name) or not isinstance(caller.node, cst.Call):
        return None
    unit = loader.site.parsed.unit
    given = _given(caller.node, unit, shuffle.value) if shuffle.value in unit.params else None
    return Asked(caller, shuffle.value) if isinstance(given, cst.Name) and given.value == "False" else None


def _given(call: cst.Call, unit: Unit, name: str) -> cst.BaseExpression | None:
    """What a call gives for a parameter: by its name, or by its place."""
    places = [param for param in unit.params if param not in ("self", "cls")]
    for place, arg in enumerate(call.args):
        if arg.star:
            return None
        if (arg.keyword.value if arg.keyword is not None else "".join(places[place : place + 1])) == name:
            return arg.value
    return None
