"""521: something else stands where every module has a method of nn.Module."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.vocabulary import CALLED_WITH_NOTHING, NAMES_OF_MODES, OF_EVERY_MODULE, WHO_CALLS
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import (
    Class,
    Const,
    Dict,
    Event,
    Func,
    Instance,
    Opaque,
    Ref,
    Seq,
    Tensor,
    Value,
    alternatives,
)
from torchlint.rules.base import Report, View

CODE = 521
_MODE = re.compile(NAMES_OF_MODES)
_ASKED_OF_MODULES = ("module.train", "module.eval", "optimizer.create")


def check(view: View) -> Iterator[Report]:
    """`self.train = True`, or `def train(self, loader, epochs)`, in a class of modules."""
    for event in view.new("setattr"):
        if event.name in OF_EVERY_MODULE and _is_module(view, event):
            text = _attribute(event)
            if text and not (isinstance(event.subject, Instance) and _own(event.subject.cls, event.name)):
                yield Report(CODE, event.site, {"name": _written(event), "method": event.name, "effect": text})
    root = view.run.root
    cls = root.home if root is not None else None
    if cls is None or view.run.kind_of_class(cls) != "module":
        return
    for name, unit in cls.cf.methods.items():
        if name != "train" and name not in CALLED_WITH_NOTHING:
            continue
        definition, parsed = view.run.definition(Func(name, cls.facts, unit, cls))
        if definition is None or not _cannot_be_called(name, definition, parsed) or _own_pair(name, cls):
            continue
        roles = {
            "name": f"{cls.name}.{name}",
            "method": name,
            "effect": WHO_CALLS.get(name, "code written for modules calls it"),
        }
        yield Report(CODE, Site(parsed, definition.name), roles)


def _is_module(view: View, event: Event) -> bool:
    """Whether a value is a module for certain: by its class, by its annotation, or because it is called as one and put into a mode."""
    owner = event.subject
    if isinstance(owner, Instance) and isinstance(owner.cls, Class):
        return owner.kind == "module"
    if event.name == "requires_grad_":
        return False  # `requires_grad` was meant: 523
    if isinstance(owner, Instance):
        return owner.kind == "module"
    return type(owner) is Opaque and ("module" in owner.tags or any(view.about(kind, owner) for kind in _ASKED_OF_MODULES))


def _written(event: Event) -> str:
    """The attribute as it is written: `model.train` of `model.train = False`."""
    target = getattr(event.site.node, "target", None)
    targets = [item.target for item in getattr(event.site.node, "targets", ())] or [target]
    texts = [event.site.parsed.text(item) for item in targets if isinstance(item, cst.Attribute) and item.attr.value == event.name]
    return texts[0] if texts and len(texts[0]) <= 40 else f"self.{event.name}"


def _attribute(event: Event) -> str:
    """What goes wrong with an attribute of that name; empty where it may be sound."""
    values = alternatives(event.value)
    layers = [value for value in values if isinstance(value, Instance)]
    if layers:
        # A layer is kept where Python looks last: the method is found first, and the layer never.
        certain = all(
            isinstance(value, Instance) and value.kind == "module" and isinstance(value.cls, Ref) for value in values
        )
        return (
            f"`self.{event.name}` still gives the method: a layer kept under that name cannot be reached"
            if certain
            else ""
        )
    if not all(_no_function(value, event.name) for value in values):
        return ""
    return WHO_CALLS.get(event.name, f"`.{event.name}()` on it raises TypeError")


def _no_function(value: Value, name: str) -> bool:
    """Whether a value cannot be called, for certain."""
    if isinstance(value, (Const, Seq, Dict, Tensor)):
        return True
    if type(value) is not Opaque:
        return False
    if value.tags & {"bool", "number", "str"}:
        return True
    declared = value.site.text() if value.source == "param" and value.site is not None else ""
    return bool(re.search(r":\s*(?:bool|int|str|float|list|dict)\b", declared, re.IGNORECASE))


def _own(cls: Value, name: str) -> bool:
    """Whether the class says itself what the name means, by a property or a method of its own."""
    if not isinstance(cls, Class):
        return False
    return cls.method(name) is not None or any(
        "__setattr__" in item.cf.methods for item in cls.mro() if isinstance(item, Class)
    )


def _cannot_be_called(name: str, definition: cst.FunctionDef, parsed) -> bool:
    """Whether a method cannot take what nn.Module gives to the method of that name."""
    words = [parsed.text(item.decorator).rsplit(".", 1)[-1] for item in definition.decorators]
    if words:
        return words in (["property"], ["cached_property"])
    if _only_raises(definition):
        return False
    params = definition.params
    if isinstance(params.star_arg, cst.Param):
        return False
    given = [*params.posonly_params, *params.params][1:]
    required = [param for param in (*given, *params.kwonly_params) if param.default is None]
    if name != "train":
        return bool(required)
    if not given and "super" in parsed.unit.words:
        return False  # a switch that lacks its argument: the first `eval()` says so
    if not given or len(required) > 1:
        return True
    first = given[0]
    text = parsed.text(first)
    mode = _MODE.search(first.name.value) or re.search(r"\bbool\b|=\s*(?:True|False)$", text)
    return not mode or bool(required) and required[0] is not first


def _only_raises(definition: cst.FunctionDef) -> bool:
    body = definition.body.body
    last = body[-1] if body else None
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(small, (cst.Raise, cst.Pass))


def _own_pair(name: str, cls: Class) -> bool:
    """Whether a class has a train() and an eval() of its own that need nothing: two switches that fit."""
    other = {"train": "eval", "eval": "train"}.get(name)
    if other is None:
        return False
    return all(key in cls.cf.methods and len(cls.cf.methods[key].params) == 1 for key in (name, other))
