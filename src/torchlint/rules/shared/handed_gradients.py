"""Gradients that one model hands on to another: `shared_param._grad = param.grad`, as the workers of A3C do. Until torch 2.0 both had one
tensor, which `optimizer.zero_grad()` filled with zeros; since then it only takes it away from the model of the optimizer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from torchlint.dryrun.flow import after, common_loop
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Iter, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View

_WORDS = (
    "`{loss}.backward()` adds to the gradients that the model has handed on before: `{call}` clears those of the other one alone",
    "clear its own, too, before `{loss}.backward()`: `model.zero_grad()` of the model that goes backward",
)
_NOWHERE = (
    "`{loss}.backward()` adds to the gradients that the model has handed on before: nothing clears them in between",
    "clear them once per step, before `{loss}.backward()`: `model.zero_grad()` of the model that goes backward",
)
_GRADIENT = frozenset({"grad", "_grad"})
# What a gradient is put through on its way: none of it changes the one that stays behind.
_ON_ITS_WAY = frozenset({"clone", "detach", "to", "cpu", "cuda"})
# What a function that is not seen may be called that clears gradients.
MAY_CLEAR = re.compile(r"zero|clear|reset|grad|clean|init|update|step|optim", re.IGNORECASE)


class HandOver(NamedTuple):
    """A loop over the parameters of two models: whose gradients are given to whom."""

    event: Event
    giver: Instance
    taker: Value
    all: frozenset[Event] = frozenset()  # it and the others of the same two, behind another condition


def added_up(view: View, code: int) -> Iterator[Report]:
    """Backwards of a model whose gradients go to another one, and are cleared there only."""
    if view.runs_below("<2.0") or not view.of("backward"):
        return
    told: set[Event] = set()
    hand_overs = list(_hand_overs(view))
    for found in hand_overs:
        given = found._replace(all=frozenset(other.event for other in hand_overs if other.giver is found.giver and other.taker is found.taker))
        for backward in view.of("backward"):
            elsewhere = _cleared_elsewhere(view, given, backward) if backward not in told and _may_fill(view, backward, given.giver) else None
            if elsewhere is not None:
                told.add(backward)
                roles = {"loss": view.loss_text(backward), "call": view.call_text(elsewhere[0].site) if elsewhere else ""}
                related = [(given.event.site, "here the gradients are given to the other model: its own are kept")]
                related += [(event.site, "this sets to None, since torch 2.0, what the other model has") for event in elsewhere[:1]]
                yield Report(code, backward.site, roles, related, words=_WORDS if elsewhere else _NOWHERE)


def _may_fill(view: View, backward: Event, giver: Instance) -> bool:
    """Whether a backward goes through the model whose gradients are handed on; or where its loss comes from is not seen: what is handed on
    behind it, and behind no other one, is of its making."""
    sources = [flow.subject for flow in backward.flows if flow.kind == "forward"]
    return not sources or any(view.related_modules(source, giver) for source in sources if source is not None)


def _hand_overs(view: View) -> Iterator[HandOver]:
    for event in view.of("loop"):
        node = event.site.node if event.site is not None else None
        over = real(event.loop.over) if isinstance(node, cst.For) and _GRADIENT & event.site.parsed.facts.words else ()
        if len(over) != 1 or not isinstance(over[0], Iter) or over[0].kind != "zip" or not isinstance(node.target, cst.Tuple):
            continue
        names = [element.value.value if isinstance(element.value, cst.Name) else "" for element in node.target.elements]
        pair = _given(node, names)
        owners = [_owner(item) for item in view.run.known_items(over[0].base)]
        if pair is None or len(owners) != len(names):
            continue
        giver, taker = (owners[names.index(name)] for name in pair)
        if isinstance(giver, Instance) and giver.kind == "module" and taker is not None and taker is not giver:
            yield HandOver(event, giver, taker)


def _owner(parameters: Value) -> Value | None:
    """The model whose `parameters()` these are."""
    alts = real(parameters)
    owners = real(alts[0].base) if len(alts) == 1 and isinstance(alts[0], Iter) and alts[0].kind == "parameters" else ()
    return owners[0] if len(owners) == 1 else None


def _given(loop: cst.For, names: list[str]) -> tuple[str, str] | None:
    """Of `taker._grad = giver.grad` in such a loop the names, giver first; None where the giver's own may be changed in it, too."""
    pairs = set()
    for node in walk(loop.body):
        if isinstance(node, cst.Call) and not (isinstance(node.func, cst.Attribute) and node.func.attr.value in _ON_ITS_WAY):
            return None
        if isinstance(node, (cst.Assign, cst.AugAssign, cst.Del, cst.AnnAssign)):
            target = node.targets[0].target if isinstance(node, cst.Assign) and len(node.targets) == 1 else None
            taker, giver = _of_whom(target), _of_whom(_source(node.value)) if target is not None else None
            if taker not in names or giver not in names:
                return None
            pairs.add((giver, taker))
    return pairs.pop() if len(pairs) == 1 else None


def _source(value: cst.BaseExpression) -> cst.BaseExpression:
    """`param.grad` of `param.grad.clone().cpu()`."""
    while isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
        value = value.func.value
    return value


def _of_whom(node: cst.BaseExpression | None) -> str | None:
    """`param` of `param.grad`."""
    own = isinstance(node, cst.Attribute) and node.attr.value in _GRADIENT and isinstance(node.value, cst.Name)
    return node.value.value if own else None


def _cleared_elsewhere(view: View, given: HandOver, backward: Event) -> list[Event] | None:
    """The calls that clear the taker's gradients, where from one backward to the next nothing clears the giver's; None where something may."""
    loop = common_loop(given.event, backward)
    if loop is None or loop.once or loop in view.run.made_in.get(id(given.giver), ()):
        return None
    steppers = [alt for event in view.of("optimizer.step") if loop in event.loops for alt in real(event.subject)]
    elsewhere: list[Event] = []

    def clears(event: Event) -> bool:
        if event.kind == "backward" and event.site != backward.site:
            return True  # whose gradients are handed on is not certain
        if event.kind == "optimizer.zero_grad" and _is_of_others(view, event, given, steppers):
            elsewhere.append(event)
            return False
        return _may_clear(view, event, given.giver)

    def goes_backward(event: Event) -> bool:
        return event.kind == "backward" and event.site == backward.site

    there, _ = after(backward, lambda event: event in given.all or clears(event), loop)
    again, _ = after(given.event, lambda event: goes_backward(event) or clears(event), loop)
    handed = bool(there) and all(event in given.all for event in there) and bool(again) and all(map(goes_backward, again))
    return sorted(elsewhere, key=lambda event: event.serial) if handed and steppers else None


def _is_of_others(view: View, event: Event, given: HandOver, steppers: list[Value]) -> bool:
    """Whether a `zero_grad()` leaves the giver's gradients as they are: it is the taker's own, or of an optimizer that steps for it."""
    args = event.site.node.args if isinstance(event.site.node, cst.Call) else None
    if args is None or args:
        return False  # `set_to_none=False` fills with zeros what both have
    return all(
        subject is given.taker
        or isinstance(subject, Instance) and subject.kind == "optimizer" and _holds_others(view, subject, given)
        or isinstance(subject, Opaque) and subject in steppers
        for subject in real(event.subject)
    )


def _holds_others(view: View, optimizer: Instance, given: HandOver) -> bool:
    modules, tensors, complete = view.held_by(optimizer)
    return complete and bool(modules) and not tensors and not any(view.related_modules(module, given.giver) for module in modules)


def _may_clear(view: View, event: Event, giver: Instance) -> bool:
    """Whether something may clear gradients of a model. In doubt, it may."""
    if event.kind in ("optimizer.zero_grad", "optimizer.create"):
        return True
    if event.kind in ("grad.set", "inplace"):
        owners = [_owner(alt.origin) if isinstance(alt, Tensor) and alt.origin is not None else None for alt in real(event.subject)]
        of_gradient = event.kind == "grad.set" or any(isinstance(alt, Tensor) and "grad_of" in alt.traits for alt in real(event.subject))
        return of_gradient and not all(owner is not None and owner is not giver for owner in owners)
    if event.kind in ("unknown", "called"):
        given = (event.subject, *event.get("args", ()))
        told = bool(MAY_CLEAR.search(event.get("name") or ""))
        return any(view.may_hold(value, giver) for value in given) or told and id(giver) in view.run.escaped
    return False
