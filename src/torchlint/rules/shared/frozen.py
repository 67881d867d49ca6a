"""Which parts of models are frozen: their parameters require no gradient, as far as the program says so."""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

from torchlint.dryrun.guards import Guard
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Const, Event, Instance, Iter, Opaque, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.seen_calls import is_module

_JUMPS = (cst.Break, cst.Continue, cst.Return)
_FREEZES = re.compile(r"freez|requires_grad|trainable", re.IGNORECASE)


class Switch(NamedTuple):
    """Where `requires_grad` of a module's parameters is switched. `whole`: that of each of them."""

    event: Event
    module: Value
    wants: bool | None
    whole: bool


def switches(view: View) -> list[Switch]:
    """`module.requires_grad_(False)`, and `p.requires_grad = False` in a loop over `module.parameters()`."""
    found = [Switch(event, event.subject, event.wants, True) for event in view.of("module.freeze") if event.subject is not None]
    for event in view.of("inplace.flag"):
        given = event.subject
        over = given.origin if isinstance(given, Tensor) and given.traits.get("param") else None
        if isinstance(over, Iter) and over.kind in ("parameters", "named_parameters"):
            found.append(Switch(event, over.base, event.wants, _for_each(event)))
        elif isinstance(over, Iter) and isinstance(over.base, Opaque):
            found.append(Switch(event, over.base, None, False))
        elif isinstance(over, Instance) and over.kind == "module":
            found.append(Switch(event, over, event.wants, False))  # `model.fc.weight.requires_grad = True`
    return found


def _for_each(event: Event) -> bool:
    """Whether it is done to each parameter that the loop gives: under no condition within the loop, which leaves none out."""
    loop = event.loops[-1] if event.loops else None
    if loop is None or loop.site is None or event.wants is None or _of_some(loop.over) or any(isinstance(node, _JUMPS) for node in walk(loop.site.node)):
        return False
    first = loop.site.location().row
    return not any(site.parsed is loop.site.parsed and site.location().row >= first for site, _ in event.guards)


def _of_some(over: Value | None) -> bool:
    """Whether a filter is gone over, which may leave parameters out."""
    return any(isinstance(alt, Iter) and (alt.kind == "filter" or alt.kind in ("enumerate", "same") and _of_some(alt.base)) for alt in real(over))


def frozen_by(view: View, module: Value, made: list[Switch]) -> Event | None:
    """What freezes a whole module, for certain and for good: nothing in view lets any part of it go again, puts a layer
    into it, or is given it under a name that speaks of freezing. `made`: all `switches`."""
    mine = [switch for switch in made if view.related_modules(switch.module, module)]
    if any(switch.wants is not False for switch in mine):
        return None
    around = [
        switch for switch in mine
        if switch.whole and (switch.module is module or _in_it(view, module, switch.module)) and not _is_newer(view, module, switch)
    ]
    if not around or may_be_let_go(view, module):
        return None
    return None if _gets_layers(view, module, around[0].event) else around[0].event


def _gets_layers(view: View, module: Value, since: Event, until: Event | None = None) -> bool:
    """Whether a layer is put into a module after something, be it a new head, whose parameters learn."""
    return any(
        _brings_layers(view, event) and event.site is not None and since.serial < event.serial and (until is None or event.serial < until.serial)
        and view.related_modules(event.subject, module) and not _holds(view, event.subject, module)
        for event in view.of("setattr", "module.put")
    )


def is_off_at(view: View, forward: Event, made: list[Switch]) -> bool:
    """Whether each parameter of a module is switched off on the way to a forward, for that time: the next training lets them go
    again. (Not where a new layer came into it since.) `made`: all `switches`."""
    mine = [switch for switch in made if view.related_modules(switch.module, forward.subject) and switch.event.serial < forward.serial]
    last = max((switch.event.serial for switch in mine if switch.wants is not False), default=-1)
    return any(
        switch.whole and switch.wants is False and switch.event.serial > last and _left_open(switch.event) <= set(forward.guards)
        and (switch.module is forward.subject or _in_it(view, forward.subject, switch.module))
        and not _gets_layers(view, forward.subject, switch.event, forward)
        for switch in mine
    )


def _left_open(event: Event) -> set[Guard]:
    """The conditions that an event stands under, but for those that were known: `if split == "train":` in a turn of `["train", "val"]`."""
    return {guard for guard in event.guards if not guard.reads or not all(isinstance(value, Const) for value in guard.reads)}


def _is_newer(view: View, module: Value, switch: Switch) -> bool:
    """Whether a module was made after that, and put into what was frozen: `model.classifier[1] = nn.Linear(...)`."""
    put = [event for event in view.of("setattr", "module.put") if any(view.related_modules(alt, module) for alt in real(event.value))]
    made = getattr(module, "born", None)
    return made is not None and made > switch.event.serial or any(event.serial > switch.event.serial for event in put)


def _in_it(view: View, part: Value, whole: Value) -> bool:
    return id(part) in view.closure(whole) or id(whole) in view.origins(part)


def _holds(view: View, holder: Value, module: Value) -> bool:
    """Whether a module is a part of another: what that one gets beside it is not its own."""
    return holder is not module and id(module) in view.closure(holder) and id(holder) not in view.closure(module)


def _brings_layers(view: View, event: Event) -> bool:
    return any(
        isinstance(alt, Instance) and alt.kind in ("module", "wrapper") and view.may_learn(alt)
        or isinstance(alt, Tensor) and bool(alt.traits.get("param"))
        or type(alt) is Opaque and "module" in alt.tags
        for alt in real(event.value)
    )


def may_be_let_go(view: View, module: Value) -> bool:
    """Whether a call that cannot be seen may switch the module's parameters on again."""
    for event in view.of("unknown", "called"):
        given = (event.subject, *event.get("args", ()))
        if _FREEZES.search(event.get("name") or "") and any(value is not None and view.related_modules(value, module) for value in given):
            return True
    return False


def frozen_one_by_one(view: View, event: Event) -> bool:
    """Whether a loop over the model's parameters froze each, and nothing is trained: then no graph is built."""
    if view.of("backward", "optimizer.create", "optimizer.step"):
        return False
    return any(
        other.name == "requires_grad" and isinstance(other.value, Const) and other.value.value is False and other.loops
        and any(_goes_over_parameters(view, over, event.subject) for over in real(other.loops[-1].over))
        for other in view.of("flag.set")
    )


def _goes_over_parameters(view: View, over: Value, module: Value) -> bool:
    if not isinstance(over, Iter) or over.kind not in ("parameters", "named_parameters"):
        return False
    return any(alt is module or is_module(alt) and view.related_modules(alt, module) for alt in real(over.base))
