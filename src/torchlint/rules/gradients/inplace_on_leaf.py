"""114: a leaf that requires grad is changed in place while autograd records."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Class, Event, Instance, Iter, Ref, Tensor, Value, real
from torchlint.rules.base import Report, View

CODE = 114


def check(view: View) -> Iterator[Report]:
    """`w += ...`, `w.mul_(...)`, `w[...] = ...` on a leaf made in this run."""
    for event, alts in [*_changed(view), *((event, real(event.subject)) for event in view.of("augment"))]:
        if event.grad_on is not True or not alts or not all(is_leaf(alt) or _weight(view, event, alt) for alt in alts):
            continue
        if event.kind == "augment" and uses_gradient(event, alts):
            continue
        name = view.owner_text(event, alts[0].name or "it")
        if event.kind == "augment":
            name = event.site.parsed.text(event.target)
        related = [(alts[0].sites["leaf"], "it requires grad since here")] if "leaf" in alts[0].sites else []
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "name": name}, related)


def _changed(view: View) -> Iterator[tuple[Event, tuple[Value, ...]]]:
    """Each change in place, with all that what is changed may be: one of them may be of a way that does not lead here."""
    changes: list[list[Event]] = []
    for event in view.of("inplace"):
        if changes and event.site == changes[-1][-1].site and event.serial == changes[-1][-1].serial + 1:
            changes[-1].append(event)
        else:
            changes.append([event])
    for together in changes:
        yield together[-1], tuple(alt for event in together for alt in real(event.subject))


def is_leaf(value) -> bool:
    """A tensor that was made here and requires grad."""
    return isinstance(value, Tensor) and bool(value.traits.get("leaf")) and value.source == "made"


def _weight(view: View, event: Event, value) -> bool:
    """Whether a tensor is a parameter of a module made in this run, in files that never switch `requires_grad`."""
    if not isinstance(value, Tensor) or not value.traits.get("leaf") or not value.traits.get("param"):
        return False
    if value.source == "attr" and isinstance(value.origin, Instance) and isinstance(value.origin.cls, Ref):
        module = value.origin
    elif value.source == "item" and isinstance(value.origin, Iter) and isinstance(value.origin.base, Instance):
        module = value.origin.base
    else:
        return False
    classes = [item for item in module.cls.mro() if isinstance(item, Class)] if isinstance(module.cls, Class) else []
    files = [event.site.parsed.facts, *(cls.facts for cls in classes), *([module.site.parsed.facts] if module.site else [])]
    if any(_SWITCHES & facts.words for facts in files):
        return False
    # A function that nothing seen calls may be called under no_grad; one that makes a backward is not, nor is __init__.
    root = view.run.root
    return root is None or root.name == "__init__" or bool(view.of("backward"))


_SWITCHES = frozenset({"requires_grad", "requires_grad_", "freeze", "set_grad_enabled"})


def uses_gradient(event: Event, leaves) -> bool:
    """Whether the new value of a leaf is computed from its own gradient: a hand-written update, rule 123."""
    parts = set(event.value.parts) | {event.value}
    return any(isinstance(part, Tensor) and part.traits.get("grad_of") in leaves for part in parts)
