"""Which dtype a tensor has for certain, read from the call that made or cast it."""

from __future__ import annotations

from types import NoneType

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, Instance, Iter, Opaque, Ref, Tensor, Value, real
from torchlint.rules.base import View

_NAMES = {
    "long": "int64", "int": "int32", "short": "int16", "half": "float16", "float": "float32", "double": "float64",
    "bool": "bool", "bfloat16": "bfloat16",
}
_CASTS = _NAMES | {"char": "int8", "byte": "uint8"}
_NAMES |= {name: name for name in "int64 int32 int16 int8 uint8 float16 float32 float64".split()}
_MAKERS = {
    **dict.fromkeys("randn rand zeros ones eye linspace FloatTensor".split(), "float32"),
    **dict.fromkeys("randint randperm LongTensor argmax argmin argsort".split(), "int64"),
    "IntTensor": "int32", "ShortTensor": "int16", "ByteTensor": "uint8", "BoolTensor": "bool",
    "DoubleTensor": "float64", "HalfTensor": "float16",
}
_FILLED = {bool: "bool", int: "int64", float: "float32"}
# The same numbers in another shape or place.
_KEEP = frozenset(
    """view reshape squeeze unsqueeze flatten unflatten permute transpose t contiguous cuda cpu clone expand expand_as
    repeat narrow detach view_as requires_grad_ pin_memory to""".split()
)


def dtype_of(value: Value | None) -> tuple[str, object] | None:
    """The dtype of a value and the place that gave it; None where it is not certain.

    A union has a dtype if all that it can be have the same.
    """
    alts = real(value)
    found = [_one(alt) for alt in alts]
    if not found or None in found or len({dtype for dtype, _ in found}) != 1:
        return None
    return found[0]


def _one(value: Value | None):
    for _ in range(12):
        if not isinstance(value, Opaque) or value.site is None or not isinstance(value.site.node, cst.Call):
            return None
        if value.source == "output":
            return None
        call, site = value.site.node, value.site
        name = _called(call)
        if isinstance(value, Tensor) and value.source == "made":
            dtype = _made(value, call, name)
            return (dtype, site) if dtype is not None else None
        if name in _CASTS and not call.args and isinstance(call.func, cst.Attribute):
            return _CASTS[name], site
        if name in ("argmax", "argmin", "argsort") and isinstance(value, Tensor):
            return "int64", site
        if name in ("to", "type"):
            dtype = _named(call) or (_of_class(call) if name == "type" else None)
            if dtype is not None:
                return dtype, site
            if name == "type" or not all(names_device(arg) for arg in call.args):
                return None
        if name not in _KEEP or value.origin is None:
            return None
        value = value.origin
    return None


def _made(value: Tensor, call: cst.Call, name: str) -> str | None:
    """What torch.zeros(...) and its like make."""
    if any(arg.keyword is not None and arg.keyword.value == "dtype" for arg in call.args):
        return _named(call)
    if any(arg.star for arg in call.args) or "param" in value.traits:
        return None
    array = value.origin if type(value.origin) is Opaque else None
    if array is not None and name in ("tensor", "as_tensor", "from_numpy") and "float64" in array.tags:
        return "float64"
    if name in ("tensor", "as_tensor"):
        return _of_numbers(call.args[0].value) if call.args else None
    if name == "full":
        return _FILLED.get(value.traits.get("filled"))
    if name == "arange":
        plain = [arg for arg in call.args if arg.keyword is None]
        return "int64" if plain and all(isinstance(arg.value, cst.Integer) for arg in plain) else None
    return _MAKERS.get(name)


def _of_numbers(node: cst.BaseExpression) -> str | None:
    """The dtype that torch.tensor gives a literal list of numbers: int64 only if all are integers."""
    kinds: set[type] = set()
    todo = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, (cst.List, cst.Tuple)):
            todo.extend(element.value for element in node.elements)
        elif isinstance(node, cst.UnaryOperation) and isinstance(node.operator, (cst.Minus, cst.Plus)):
            todo.append(node.expression)
        else:
            kinds.add(type(node))
    if kinds == {cst.Integer}:
        return "int64"
    return "float32" if kinds and kinds <= {cst.Integer, cst.Float} else None


def _named(call: cst.Call) -> str | None:
    """The dtype named in a call: torch.float32, dtype=torch.long."""
    for arg in call.args:
        node = arg.value
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "torch":
            return _NAMES.get(node.attr.value)
    return None


def _of_class(call: cst.Call) -> str | None:
    """The dtype of the old class named in a cast: `x.type(torch.ByteTensor)`, `x.type(torch.cuda.FloatTensor)`."""
    node = call.args[0].value if len(call.args) == 1 else None
    of_torch = isinstance(node, cst.Attribute) and _root(node) in ("torch", "th", "T") and node.attr.value.endswith("Tensor")
    return _MAKERS.get(node.attr.value) if of_torch else None


def _root(node: cst.BaseExpression) -> str:
    while isinstance(node, cst.Attribute):
        node = node.value
    return node.value if isinstance(node, cst.Name) else ""


def _called(call: cst.Call) -> str:
    """The last part of a called name."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else ""


def names_device(arg: cst.Arg) -> bool:
    """Whether an argument of `.to` says where to, and no dtype."""
    node = arg.value
    if arg.keyword is not None:
        return arg.keyword.value in ("device", "non_blocking", "copy")
    if isinstance(node, (cst.SimpleString, cst.Integer)):
        return True
    text = node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""
    return isinstance(text, str) and "device" in text.lower()


def double_in_batch(view: View, value: Value | None) -> tuple[Site | None] | None:
    """Whether a value is a part of a batch that its data set makes in float64, and nothing casts it on the way: with where a tensor is made of
    it, if the data set makes one."""
    found = [_double_item(view, alt) for alt in real(value)]
    return found[0] if found and None not in found else None


def _double_item(view: View, value: Value) -> tuple[Site | None] | None:
    for _ in range(12):
        if type(value) is not Opaque:
            return None
        if value.source == "item" and "batch" in value.tags:
            return view.run.base_store.get(value, " float64")
        call = value.site.node if value.site is not None else None
        name = _called(call) if isinstance(call, cst.Call) else ""
        if name not in _KEEP or name == "to" and not all(map(names_device, call.args)):
            return None
        value = value.origin
    return None


def moves(event: Event, *names: str) -> bool:
    """Whether a method's event is a call of one of `names`, and of `to` only where that says where to."""
    node = event.site.node
    if event.name not in names or not isinstance(node, cst.Call):
        return False
    return event.name != "to" or bool(node.args) and names_device(node.args[0])


def from_data(value: Value | None) -> bool:
    """Whether a value is data for certain: out of a batch of a loader, or a tensor made without a graph."""
    alts = real(value)
    return bool(alts) and all(_data(alt) for alt in alts)


def _data(value: Value) -> bool:
    for _ in range(12):
        if not isinstance(value, Opaque) or value.flows:
            return False
        if isinstance(value, Tensor):
            if value.source == "made":
                return value.traits.get("graph") is False and "param" not in value.traits
            if value.traits.get("graph") is True:
                return False
        if value.source == "item" and "batch" in value.tags:
            return True
        read_from = value.origin
        if value.source not in ("op", "item", "call") or isinstance(read_from, (Iter, Instance, Ref, Const, NoneType)):
            return False
        call = value.site.node if value.site is not None else None
        name = call.func.attr.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else ""
        if name not in _KEEP and name not in _CASTS and name not in ("type", "type_as"):
            return False
        value = value.origin
    return False
