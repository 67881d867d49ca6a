"""504: `model.forward(x)` instead of `model(x)`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.containers import CONTAINERS
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Event, Instance, Opaque
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, code_of, replace

CODE = 504


def check(view: View) -> Iterator[Report]:
    """A forward that is called by its name, on a module other than `self`."""
    for event in view.of("forward"):
        if not event.get("direct") or not _module(event):
            continue
        func = getattr(event.site.node, "func", None)
        if not isinstance(func, cst.Attribute) or func.attr.value != "forward":
            continue
        owner = event.site.parsed.text(func.value)
        if owner in ("self", "cls") or owner.startswith("super("):
            continue
        roles = {"call": view.call_text(event.site), "model": owner if len(owner) <= 40 else "the module"}
        yield Report(CODE, event.site, roles, mend=_mend(event.site) if _class_seen(event) else None)


def _class_seen(event: Event) -> bool:
    """Whether the class is known with all its bases: its call is that of nn.Module then, and takes what forward takes."""
    cls = getattr(event.subject, "cls", None)
    if isinstance(cls, Class):
        return all(name.startswith("torch.") for name in cls.externals())
    return isinstance(event.subject, Instance)


def _mend(site: Site) -> Mend | None:
    """Calls the module itself; hooks run then, which may be what the author kept away."""
    func = site.node.func if isinstance(site.node, cst.Call) else None
    if not isinstance(func, cst.Attribute) or func.attr.value != "forward" or func.lpar:
        return None
    return Mend("call the module", [replace(site, code_of(site, func.value), func)], safe=False)


def _module(event: Event) -> bool:
    value = event.subject
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper") and not (isinstance(value.cls, Class) and _calls_itself(value.cls))
    # The trainers of GAN repositories are called models, too, and their `forward()` takes what `set_input` has kept.
    known = isinstance(value, Opaque) and ("module" in value.tags or _out_of_container(value) or _asked_elsewhere(event))
    return known and bool(event.args or event.get("kwargs"))


def _asked_elsewhere(event: Event) -> bool:
    """Whether another line of the file asks of the same attribute what only a module gives: `self.model.train()`."""
    func = getattr(event.site.node, "func", None)
    owner = event.site.parsed.text(func.value) if isinstance(func, cst.Attribute) else ""
    asks = re.compile(rf"(?<![\w.]){re.escape(owner)}\.(?:train|eval|parameters|named_parameters|state_dict)\(")
    return owner.startswith("self.") and any(asks.search(line) for line in event.site.parsed.facts.lines)


def _out_of_container(value: Opaque) -> bool:
    """Whether it is one of the modules of a list: `self.blocks[i - 1]`."""
    return value.source == "item" and isinstance(value.origin, Instance) and value.origin.type in CONTAINERS


def _calls_itself(cls: Class) -> bool:
    """Whether a class, or one that it derives from, has a `__call__` of its own."""
    own = [item for item in cls.mro() if isinstance(item, Class)]
    return any("__call__" in item.cf.methods or any(map(_CALL_GIVEN.match, _own_lines(item))) for item in own)


_CALL_GIVEN = re.compile(r"\s*__call__\s*[:=]")


def _own_lines(cls: Class) -> Iterator[str]:
    """The lines of a class's own statements, methods left out."""
    for unit in cls.cf.body:
        yield from cls.facts.lines[unit.start - 1 : unit.end]
