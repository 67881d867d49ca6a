"""501: layers kept in a plain list or dict."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import unit_text
from torchlint.dryrun.values import Class, Dict, Event, Instance, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, insert_after, insert_before, replace
from torchlint.rules.mends.rows import statement_at, text_of
from torchlint.sieve.facts import Unit, units_of

CODE = 501

# Parameters that are asked for to know them again: `list(map(id, net.blocks[0].parameters()))`. Nothing is trained by that.
_BY_ID = re.compile(r"\bmap\(\s*id\s*,[^()]*\.parameters\(\)\s*\)|\bid\((\w+)\)\s+for\s+\1\s+in\s+[^()]*\.parameters\(\)")


def check(view: View) -> Iterator[Report]:
    """A list of layers on self that nothing registers later."""
    for event in view.of("setattr"):
        owner = event.subject
        if not isinstance(owner, Instance) or owner.kind != "module" or not isinstance(owner.cls, Class):
            continue
        alts = real(event.value)
        container = alts[0] if len(alts) == 1 else None
        if not isinstance(container, (Seq, Dict)):
            continue
        if container not in real(view.run.store.get(owner, event.name)):
            continue  # replaced later, as in self.blocks = nn.ModuleList(self.blocks)
        layers = list(_layers(view, container))
        if not layers or not _plain(view, container, layers) or _hidden_on_purpose(view, event, container):
            continue
        if _used(owner, event.name) and not _trained_from_outside(owner, event.name):
            site = next((layer.site for layer in layers if layer.site is not None), None)
            related = [(site, "a layer in it is built here")] if site is not None and site.node is not event.site.node else []
            yield Report(CODE, event.site, {"name": f"self.{event.name}"}, related, _mend(view, event, container))


def _mend(view: View, event: Event, container: Value) -> Mend | None:
    """Makes a list that is written down where it is kept a ModuleList. Checkpoints have new keys then: not safe."""
    site, node = event.site, event.site.node
    if not isinstance(node, cst.Assign) or not isinstance(node.value, (cst.List, cst.ListComp)):
        return None
    items = [alt for item in view.run.known_items(container) for alt in real(item)]
    if not items or not all(isinstance(item, Instance) and item.kind == "module" for item in items):
        return None
    place, text = statement_at(site), text_of(site.parsed)
    before = "\n".join(text.split("\n")[: place.statement.lineno - 1]) if place is not None else ""
    own = before[before.rfind("def ") :]
    only_lists = re.search(rf"\.{event.name}\.(?:index|remove|sort|copy|count|reverse|clear)\(", text)
    if "__init__(" not in own.partition("\n")[2] or only_lists:
        return None
    names = {qualified: local for local, qualified in site.parsed.facts.imports.items()}
    ways = (("torch.nn.ModuleList", ""), ("torch.nn", ".ModuleList"), ("torch", ".nn.ModuleList"))
    made = next((names[owner] + rest for owner, rest in ways if owner in names), None)
    if made is None:
        return None
    if isinstance(node.value, cst.List) and not node.value.elements:
        return Mend("make it a `ModuleList`", [replace(site, f"{made}()", node.value)], safe=False)
    changes = [insert_before(site, f"{made}(", node.value), insert_after(site, ")", node.value)]
    return Mend("make it a `ModuleList`", changes, safe=False)


def _layers(view: View, container: Value, depth: int = 0) -> Iterator[Value]:
    for item in view.run.known_items(container):
        for alt in real(item):
            if isinstance(alt, Instance) and alt.kind in ("module", "wrapper") and _trains(view, alt):
                yield alt
            elif isinstance(alt, Tensor):
                yield from _parameters(alt)
            elif isinstance(alt, (Seq, Dict)) and depth < 3:
                yield from _layers(view, alt, depth + 1)


def _parameters(value: Tensor) -> Iterator[Value]:
    """A tensor and the Parameter that it is, or was before it was moved, with what it was on the way."""
    way: list[Value] = [value]
    while isinstance(value, Tensor) and value.source != "made" and value.traits.get("graph") is True:
        value = value.origin
        way.append(value)
    if isinstance(value, Tensor) and value.traits.get("param") and value.source == "made":
        yield from reversed(way)


def _trains(view: View, layer: Instance, depth: int = 0) -> bool:
    """Whether a module has anything to lose by not being registered."""
    name = layer.type.rsplit(".", 1)[-1]
    if isinstance(layer.cls, Class) or name in ("Sequential", "ModuleList", "ModuleDict"):
        inner = [child for child in view.run.children.get(id(layer), ()) if isinstance(child, Instance)]
        if depth < 6 and any(_trains(view, child, depth + 1) for child in inner):
            return True
        return any(
            event.subject is layer and any(isinstance(alt, Tensor) and alt.traits.get("param") for alt in real(event.value))
            for event in view.of("setattr")
        )
    return not layer.type.startswith(("torch.nn.", "torch.ao.")) or name.startswith(
        ("Linear", "Conv", "Embedding", "LSTM", "GRU", "RNN", "Batch", "Layer", "Group", "Instance", "Dropout", "Multihead", "Transformer",
         "Bilinear", "PReLU", "LazyLinear", "LazyConv")
    )


def _plain(view: View, container: Value, layers: list[Value]) -> bool:
    run = view.run
    return id(container) not in run.escaped and not any(id(layer) in run.registered or id(layer) in run.escaped for layer in layers)


def _used(owner: Instance, name: str) -> bool:
    for cls in owner.cls.mro():
        if isinstance(cls, Class):
            if {"__setattr__", "parameters", "_apply"} & cls.cf.methods.keys() or any(_hands_out(unit, key, name) for key, unit in cls.cf.methods.items()):
                return False
            if _registers_parameters(cls):
                return False
            if any(name in unit.words for key, unit in cls.cf.methods.items() if key != "__init__"):
                return True
    return False


def _registers_parameters(cls: Class) -> bool:
    """Whether a class has the parameters of layers under a name of their own: `nn.ParameterList(...)` of `layer.parameters()`."""
    units = cls.cf.methods.values()
    if not any(unit.words & {"ParameterList", "register_parameter"} for unit in units):
        return False
    return any("parameters" in unit.words and _OF_A_LAYER.search(unit_text(cls.facts, unit)) for unit in units)


_OF_A_LAYER = re.compile(r"\b(?!self\b|super\b)\w+(?:\[[^]]*\])?\.parameters\(\)")


def _hands_out(unit: Unit, method: str, name: str) -> bool:
    """Whether a method gives the parameters of the layers in the container to whoever asks: `def trainable(self)`."""
    return method not in ("__init__", "forward") and {name, "parameters"} <= unit.words


def _trained_from_outside(owner: Instance, name: str) -> bool:
    """Whether somebody in the file takes the layers out of the container for their parameters: `net.layers` in a function
    that speaks of `parameters`."""
    own = {id(unit) for cls in owner.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()}
    facts = owner.cls.facts
    taken = re.compile(rf"(?<!\bself)\.{re.escape(name)}\b")
    return any(
        id(unit) not in own and {name, "parameters"} <= unit.words
        and taken.search(_BY_ID.sub("", "".join(facts.lines[unit.start - 1 : unit.end])))
        for unit in units_of(facts)
    )


def _hidden_on_purpose(view: View, event: Event, container: Value) -> bool:
    """`self.teacher = [teacher]` is the common way to keep a module out of parameters()."""
    items = view.run.known_items(container)
    stored = view.run.store.get(container, "[]")
    return isinstance(container, Seq) and (container.kind == "tuple" or len(items) == 1 and stored is not None and not stored.open)
