"""405: the new tensor that a method returns is thrown away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue import effects
from torchlint.dryrun.values import Event, Instance, Iter, Opaque, Ref, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, binds, code_of, insert_before
from torchlint.rules.mends.rows import statement_at
from torchlint.rules.shared.placing import same_device
from torchlint.rules.shared.run_for_show import is_meant

CODE = 405
# Methods that, on a value of unknown kind, only a tensor can mean.
ONLY_TENSORS = frozenset({"unsqueeze", "permute", "contiguous", "clamp", "masked_fill", "type_as", "expand_as", "view_as", "clamp_min"})
# What follows may have been written for the shape, type, place or graph that was there, and work: not where only values change,
# or their layout.
_KEEPS_KIND = frozenset({"contiguous", "clamp", "clamp_min", "clamp_max", "masked_fill", "index_fill", "scatter_add"})
LOADER_NAME = re.compile(r"loader|dataset|(?:^|_)(?:train|test|val|valid)(?:_|$)|batches|data_iter|(?:^|_)dl$", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`labels.to(device)`, `x.view(...)`, `x.clamp(min=0)` as a statement."""
    for event in view.new("discarded"):
        node = event.site.node
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or event.owner is None:
            continue
        named = _named(node.func.value)
        if named is None or _shown(event):
            continue  # torch.zeros(1).cuda(): nobody has a name for what should have changed
        if any(arg.keyword is not None and arg.keyword.value in _CHANGES for arg in node.args):
            continue
        if event.name == "type" and not node.args:
            continue  # the name of its type
        alts = real(event.owner)
        if _pure_function(event) and not _read_next(event):
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "value": event.site.parsed.text(node.args[0].value)})
        elif alts and all(_new_tensor(alt, event) and not _may_be_there(view, alt, event) for alt in alts) and not _read_next(event):
            call = view.call_text(event.site)
            chained = named is not node.func.value
            roles = {"call": call, "value": event.site.parsed.text(named) if chained else view.owner_text(event, "the tensor")}
            yield Report(CODE, event.site, roles, mend=_mend(event))


def _named(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What has a name at the head of a chain of calls that change nothing: `x` of `x.cpu().clamp(0, 1)`."""
    while isinstance(node, cst.Call):
        func = node.func
        if not isinstance(func, cst.Attribute) or func.attr.value not in _ONLY_GIVE:
            return None
        node = func.value
    return node


_ONLY_GIVE = effects.PURE_TENSOR_ONLY | effects.PURE_IF_TENSOR


def _mend(event: Event) -> Mend | None:
    """Assigns the result to the name it was asked of, where that name is this function's own and is used later. Safe where
    the tensor stays of one kind."""
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
    return Mend(f"assign the result to `{text}`", [insert_before(site, f"{text} = ")], event.name in _KEEPS_KIND)


def _pure_function(event: Event) -> bool:
    """Whether a function of torch that changes nothing is called on something that has a name: `torch.clamp(x, 0)`."""
    owner, args = event.owner, event.site.node.args
    if not isinstance(owner, Ref) or not args or args[0].keyword is not None:
        return False
    of_numbers = owner.name == "torch" and event.name in effects.PURE_FUNCTIONS
    if event.name not in _FUNCTIONS.get(owner.name, ()) and not (of_numbers and is_meant(event.site)):
        return False
    if event.name in _IN_PLACE_TOO and len(args) > 1:
        return False
    return isinstance(args[0].value, (cst.Name, cst.Attribute)) and not args[0].star


_CHANGES = frozenset({"out", "inplace", "in_place"})  # no tensor takes the last two: another object, which changes itself
_IN_PLACE_TOO = frozenset({"relu"})  # F.relu(x, True) changes x
_RESHAPE = frozenset({"squeeze", "unsqueeze", "transpose", "permute", "reshape", "flatten"})
_FUNCTIONS = {
    "torch": _RESHAPE | {"clamp", "clip", "relu", "sigmoid", "masked_fill", "clamp_min", "clamp_max"},
    "torch.nn.functional": frozenset({"relu", "sigmoid", "softmax", "normalize", "pad", "one_hot"}),
}


def _shown(event: Event) -> bool:
    """Whether this is a line of a tutorial or an exported notebook, written for the value that it shows."""
    return event.site.parsed.unit.name == "<module>" and not event.loops and not event.calls and event.name not in effects.PURE_IF_TENSOR


def _read_next(event: Event) -> bool:
    """Whether the next line only shows the value that was asked, `x.cuda()` and then `x.is_cuda`: to show that it stays."""
    place, owner = statement_at(event.site), event.site.node.func.value
    follows = place.rest[0] if place is not None and place.rest else None
    if not isinstance(follows, ast.Expr) or not isinstance(follows.value, (ast.Name, ast.Attribute, ast.Compare, ast.Subscript)):
        return False
    return isinstance(owner, cst.Name) and any(isinstance(node, ast.Name) and node.id == owner.value for node in ast.walk(follows))


def _new_tensor(owner: Value, event: Event) -> bool:
    name = event.name
    if isinstance(owner, Tensor):
        if name == "detach" and _freed(owner):
            return False
        return (name in effects.PURE_TENSOR_ONLY or name in effects.PURE_IF_TENSOR) and event.subject is not owner
    if not isinstance(owner, Opaque) or "module" in owner.tags or _object(owner):
        return False
    if name in ONLY_TENSORS:
        return True
    if name in ("view", "reshape") and event.args:
        return bool(owner.flows) or owner.source in ("op", "param") or _item_of_tensor(owner)
    if name in effects.PURE_IF_TENSOR:
        return _from_loader(owner)
    given = owner.source == "param" and event.site.parsed.unit.name == "forward"  # a model is given tensors
    return name in effects.PURE_TENSOR_ONLY and (bool(owner.flows) or given) and name not in ("detach",)


def _object(owner: Opaque) -> bool:
    """Whether it is an object of a class that is not seen: `Data(x)` is no tensor, and may change itself."""
    last = (owner.name or "").rpartition(".")[2]
    return owner.source == "call" and last[:1].isupper() and not owner.flows and "Tensor" not in last


def _may_be_there(view: View, owner: Value, event: Event) -> bool:
    """Whether a move may have nothing to do: a tensor that is where it shall be is given back, and nothing is lost.
    What comes out of a loader is on the CPU; of what was computed the place is not known, as a rule."""
    if event.name not in ("to", "cuda", "cpu"):
        return False
    given = real(event.args[0]) if event.args else ()
    keywords = {arg.keyword.value for arg in event.site.node.args if arg.keyword is not None}
    if event.name == "to" and "device" not in keywords and (not given or all(_is_dtype(alt) for alt in given)):
        return False
    place = owner.traits.get("device") if isinstance(owner, Tensor) else "cpu"
    if any(id(source) in view.run.registered for source in _origins(owner)):
        return True  # a buffer is where its module is
    if event.name == "cpu":
        target = "cpu"
    elif isinstance(event.subject, Tensor):
        target = event.subject.traits.get("device")
    else:
        target = view.run.device_of(event.args[0]) if event.args else None
    return place is None or same_device(place, target)


def _is_dtype(value: Value) -> bool:
    """Whether an argument of `to` is a dtype: torch.float32, x.dtype, or what is called one."""
    if isinstance(value, Ref):
        return value.name.startswith("torch.") or value.name.endswith("dtype")
    return isinstance(value, Opaque) and value.name.endswith("dtype")


def _origins(value: Value | None) -> Iterator[Value]:
    """A value, and what it is a part or another form of."""
    while isinstance(value, Tensor):
        yield value
        value = value.origin


def _freed(owner: Tensor) -> bool:
    return owner.source not in ("op", "output", "made")


def _item_of_tensor(value: Opaque) -> bool:
    """Whether a value is an item of something that the function got or computed. What is in an attribute may be
    anything: `net.blobs["data"]` of Caffe changes in place."""
    if value.source != "item":
        return False
    origin: Value | None = value
    while isinstance(origin, Opaque) and origin.source == "item" and not origin.tags & {"batch", "batch?"}:
        origin = origin.origin
    return isinstance(origin, (Opaque, Iter)) and getattr(origin, "source", "") not in ("attr", "call")


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
