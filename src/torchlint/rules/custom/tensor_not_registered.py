"""502: a plain tensor attribute that forward uses does not move with the model."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Class, Instance, Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.custom.tensor_created_in_forward import made_on_default

CODE = 502


def check(view: View) -> Iterator[Report]:
    """A tensor made in __init__ on the default device meets an input in another method."""
    kept = {}
    for event in view.of("setattr"):
        owner = event.subject
        if isinstance(owner, Instance) and owner.kind == "module" and isinstance(owner.cls, Class) and not _moved_by_hand(owner.cls, event.name):
            for alt in real(event.value):
                if isinstance(alt, Tensor) and "made" in alt.traits and not alt.traits.get("leaf"):
                    kept[id(alt)] = event
    if not kept:
        return
    for event, tensor in made_on_default(view):
        origin = tensor
        while id(origin) not in kept and isinstance(origin, Tensor) and isinstance(origin.origin, Tensor):
            origin = origin.origin
        change = kept.get(id(origin))
        if change is None or change.site.parsed.unit.name != "__init__" or event.site.parsed.unit.name == "__init__":
            continue
        yield Report(CODE, change.site, {"name": f"self.{change.name}"}, [(event.site, "it meets what moves with the model here")])


def _moved_by_hand(cls: Class, name: str) -> bool:
    """Whether the class moves the attribute in a `to`, `cuda` or `_apply` of its own."""
    methods = [unit for item in cls.mro() if isinstance(item, Class) for unit in item.cf.methods.values()]
    return any(unit.name in ("to", "cuda", "_apply") and unit.words & {name, "__dict__", "setattr", "vars"} for unit in methods)
