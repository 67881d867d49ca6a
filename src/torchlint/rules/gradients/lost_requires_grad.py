"""116: what was meant to be a parameter is none."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Event, Instance, Opaque, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.placing import same_device

CODE = 116


def check(view: View) -> Iterator[Report]:
    """A moved Parameter or a leaf kept as a module's attribute; a detached copy given to an optimizer."""
    for event in view.new("setattr"):
        owner = event.subject
        alts = real(event.value) if isinstance(owner, (Instance, Opaque)) else ()
        if len(alts) != 1 or not isinstance(alts[0], Tensor):
            continue
        if isinstance(owner, Opaque) and "module" in owner.tags:
            if _hidden_parameter(view, alts[0], event.site):
                yield Report(CODE, event.site, {"call": _made_by(view, alts[0]), "name": _written(event)})
            continue
        if not isinstance(owner, Instance) or owner.kind != "module":
            continue
        value = alts[0]
        if not _read_elsewhere(owner, event.name):
            continue
        if _hidden_parameter(view, value, event.site):
            yield Report(CODE, event.site, {"call": _made_by(view, value), "name": f"self.{event.name}"})
        elif (
            value.traits.get("leaf") and not value.traits.get("param") and value.source == "made"
            and not _optimized(view, value) and not _handled_by_hand(view, owner, event.name, value)
        ):
            yield Report(CODE, event.site, {"call": _made_by(view, value), "name": f"self.{event.name}"})
    leaves = {id(event.subject) for event in view.of("leaf.set")}
    for event in view.of("optimizer.create"):
        for tensor in event.tensors:
            if id(tensor) in leaves:
                continue
            if isinstance(tensor, Tensor) and tensor.traits.get("graph") is False and tensor.traits.get("detached") is not None:
                if not tensor.traits.get("leaf"):
                    yield Report(CODE, tensor.site, {"call": _made_by(view, tensor), "name": tensor.name or "the tensor"},
                                 [(event.site, "the optimizer is given it here")])


def _written(event: Event) -> str:
    targets = getattr(event.site.node, "targets", None)
    return event.site.parsed.text(targets[0].target) if targets else event.name


def _made_by(view: View, value: Tensor) -> str:
    return view.call_text(value.site) if value.site is not None else "this"


def _hidden_parameter(view: View, value: Tensor, site: Site) -> bool:
    """Whether a tensor was computed from a Parameter that was made on the way, moved or in the same function, and that
    no module knows."""
    if value.traits.get("param") or value.traits.get("leaf") or value.traits.get("graph") is not True:
        return False
    return any(
        isinstance(part, Tensor) and part.source == "made" and part.traits.get("param") and part.traits.get("leaf") and not part.name
        and id(part) not in view.run.registered and id(part) not in view.run.escaped
        and (_moved_from(value, part) or part.site is not None and part.site.parsed is site.parsed)
        and not _may_be_itself(value, part)
        for part in value.parts
    )


_MOVES = frozenset({"to", "cuda", "cpu"})
_CASTS = frozenset({"double", "half", "bfloat16", "type"})


def _may_be_itself(value: Value | None, parameter: Tensor) -> bool:
    """Whether a Parameter was only moved or cast, and may have been what it is to be all along: then it gives itself
    back. It is where the tensor is that it was made of, if that is known."""
    devices = []
    while isinstance(value, Tensor) and value is not parameter:
        func = value.site.node.func if value.site is not None and isinstance(value.site.node, cst.Call) else None
        name = func.attr.value if isinstance(func, cst.Attribute) else ""
        if name not in _MOVES | _CASTS:
            return False
        devices.append(value.traits.get("device") if name in _MOVES else None)
        value = value.origin
    alts = real(parameter.origin)
    data = alts[0] if len(alts) == 1 else None
    if value is not parameter or data is None:
        return False
    if not isinstance(data, Tensor) or not data.traits.keys() & {"made", "device"}:
        return True
    place = data.traits.get("device")
    return place is not None and all(same_device(device, place) for device in devices)


def _moved_from(value: Value | None, part: Tensor) -> bool:
    """Whether a tensor is another one in another place, type or shape."""
    while isinstance(value, Tensor) and value is not part:
        value = value.origin
    return value is part


def _handled_by_hand(view: View, owner: Instance, name: str, value: Value) -> bool:
    """Whether the class reads the leaf's own gradient, keeps a list of such leaves for an optimizer, or has a method
    that gathers them: `params()`, `named_leaves()`."""
    for event in view.of("setattr"):
        if event.subject is owner and any(isinstance(alt, Seq) and value in view.run.known_items(alt) for alt in real(event.value)):
            return True
    units = [unit for cls in owner.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()]
    return any(name in unit.words and ("grad" in unit.words or _GATHERS.match(unit.name)) for unit in units)


_GATHERS = re.compile(r"^(?!(?:re)?set|init|load).*(?:params|parameters|leaves|trainable)")


def _optimized(view: View, value: Value) -> bool:
    return any(value in event.tensors for event in view.of("optimizer.create"))


def _read_elsewhere(owner: Instance, name: str) -> bool:
    """Whether other methods of the class use the attribute, and nothing there makes a parameter list of its own."""
    if not isinstance(owner.cls, Class):
        return False
    read = False
    for cls in owner.cls.mro():
        if isinstance(cls, Class):
            if {"parameters", "named_parameters"} & cls.cf.methods.keys():
                return False
            read = read or any(name in unit.words for key, unit in cls.cf.methods.items() if key != "__init__")
    return read
