"""405: the new tensor that a method returns is thrown away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import Event
from torchlint.dryrun.torch_api import effects
from torchlint.dryrun.values import Instance, Iter, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mend import Mend, binds, code_of, insert_before

CODE = 405
# Methods that, on a value of unknown kind, only a tensor can mean.
ONLY_TENSORS = frozenset({"unsqueeze", "permute", "contiguous", "clamp", "masked_fill", "type_as", "expand_as", "view_as", "clamp_min"})
# What follows may have been written for the shape that was there, and work.
_RESHAPES = frozenset(
    "view reshape permute transpose t swapaxes movedim unsqueeze squeeze flatten expand expand_as repeat view_as sum mean".split()
)
LOADER_NAME = re.compile(r"loader|dataset|(?:^|_)(?:train|test|val|valid)(?:_|$)|batches|data_iter|(?:^|_)dl$", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`labels.to(device)`, `x.view(...)`, `x.clamp(min=0)` as a statement."""
    for event in view.of("discarded"):
        node = event.site.node
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or event.owner is None:
            continue
        if isinstance(node.func.value, cst.Call) or _shown(event):
            continue  # torch.zeros(1).cuda(): nobody has a name for what should have changed
        alts = real(event.owner)
        if alts and all(_new_tensor(alt, event) for alt in alts):
            call = view.call_text(event.site)
            roles = {"call": call, "value": view.owner_text(event, "the tensor")}
            yield Report(CODE, event.site, roles, mend=_mend(event))


def _mend(event: Event) -> Mend | None:
    """Assigns the result to the name it was asked of, where that name is this function's own and is used later. Not safe where
    the shape changes."""
    site, owner = event.site, event.site.node.func.value
    if not isinstance(owner, (cst.Name, cst.Attribute)) or owner.lpar or site.node.lpar or event.calls:
        return None
    name = owner
    while isinstance(name, cst.Attribute):
        name = name.value
    if not isinstance(name, cst.Name):
        return None
    text, unit = code_of(site, owner), site.parsed.unit
    if isinstance(owner, cst.Name):
        if unit.name != "<module>" and not binds(site.parsed, site.node, name.value):
            return None
        row = site.parsed.location(site.node).end_row
        rest = site.parsed.facts.lines[row : unit.end]
        if not any(re.search(rf"(?<![\w.]){re.escape(text)}\b(?!\s*=[^=])", line) for line in rest):
            return None
    return Mend(f"assign the result to `{text}`", [insert_before(site, f"{text} = ")], event.name not in _RESHAPES)


def _shown(event: Event) -> bool:
    """Whether this is a line of a tutorial or an exported notebook, written for the value that it shows."""
    return event.site.parsed.unit.name == "<module>" and not event.loops and not event.calls and event.name not in effects.PURE_IF_TENSOR


def _new_tensor(owner: Value, event: Event) -> bool:
    name = event.name
    if isinstance(owner, Tensor):
        if name == "detach" and _freed(owner):
            return False
        return (name in effects.PURE_TENSOR_ONLY or name in effects.PURE_IF_TENSOR) and event.subject is not owner
    if not isinstance(owner, Opaque) or "module" in owner.tags:
        return False
    if name in ONLY_TENSORS:
        return True
    if name in ("view", "reshape") and event.args:
        return bool(owner.flows) or owner.source in ("item", "op", "param")
    if name in effects.PURE_IF_TENSOR:
        return _from_loader(owner)
    return name in effects.PURE_TENSOR_ONLY and bool(owner.flows) and name not in ("detach",)


def _freed(owner: Tensor) -> bool:
    return owner.source not in ("op", "output", "made")


def _from_loader(value: Opaque) -> bool:
    """Whether a value was unpacked from the batch of a loader: a tensor, not a whole batch object with a `to` of its own."""
    if value.source != "item" or not value.tags & {"batch", "batch?"}:
        return False
    origin = value.origin
    if not isinstance(origin, Opaque) or not origin.tags & {"batch", "batch?"} or origin.source != "item":
        return False
    over = origin.origin
    while isinstance(over, Iter):
        over = over.base
    if isinstance(over, Instance):
        return over.kind == "loader"
    return isinstance(over, Opaque) and bool(LOADER_NAME.search(over.name))
