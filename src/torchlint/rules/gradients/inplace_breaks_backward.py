"""115: a value that backward needs is changed in place: a result, or weights by their optimizer's step or by a load."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.effects import KEEP_RESULT
from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.stepped_between import stepped_between

CODE = 115
_STEPPED = (
    "the weights of `{model}` are changed by a step, but `{call}` needs them as they were for a gradient: it raises",
    "go backward for both losses before either step, or call `{model}` again behind the step",
)
_LOADED = (
    "the weights of `{model}` are overwritten by `load_state_dict`, but `{call}` needs them as they were for a gradient: it raises",
    "load them behind `{call}`, or call `{model}` again behind that",
)
_KEEP_RESULT = frozenset(name for name in KEEP_RESULT if name.islower())  # the functions; not the layers that call them


def check(view: View) -> Iterator[Report]:
    """`y = torch.sigmoid(x); y += 1`, where a gradient is to come back through the sigmoid."""
    for event in view.of("inplace", "augment"):
        alts = real(event.subject)
        if not alts or not all(isinstance(alt, Tensor) and alt.traits.get("graph") is True for alt in alts):
            continue
        value = alts[0]
        name = _keeps_result(value)
        if name and all(_keeps_result(alt) and _differentiated(view, event, alt) for alt in alts):
            roles = {"name": value.name or "the result", "function": name}
            if event.kind == "augment":
                roles["name"] = event.site.parsed.text(event.target)
            yield Report(CODE, event.site, roles, [(value.site, f"`{name}` keeps its result for backward")])
    for backward, forward, step in stepped_between(view):
        model = view.owner_text(forward, "the model")
        roles = {"model": model, "call": view.call_text(backward.site)}
        related = [(forward.site, "the graph is made with the weights as they are here"), (step.site, "they are changed here")]
        yield Report(CODE, backward.site, roles, related, words=_LOADED if step.kind == "load" else _STEPPED)


def _keeps_result(value: Tensor) -> str:
    """The function or activation layer whose very result a value is, if that is what it keeps; or ""."""
    of_last = value.source == "output" and isinstance(value.origin, Tensor)
    if of_last:
        value = value.origin  # what the last layer of a Sequential gives
    if value.site is None or not isinstance(value.site.node, cst.Call):
        return ""
    if not of_last and isinstance(value.origin, Tensor) and value.origin.site == value.site:
        return ""  # an item or a part of the result, which may be a copy
    if value.traits.get("act") in _KEEP_RESULT and value.sites.get("act") == value.site:
        return value.traits["act"]
    func = value.site.node.func
    name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
    return name if name in _KEEP_RESULT and value.source == "op" else ""


def _differentiated(view: View, event: Event, value: Tensor) -> bool:
    """Whether a backward that comes later goes through the value, or forward returns what was computed from it."""
    onward, _ = after(
        event, lambda other: other.kind == "backward" and (value in other.parts or other.subject is value)
    )
    if onward:
        return True
    root = view.run.root
    if root is None or root.name != "forward" or event.guards:
        return False
    return any(value is alt or value in alt.parts for other in view.of("return") for alt in real(other.subject))
