"""412: torch.tensor of something that is a tensor already."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Opaque, Tensor, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.rows import text_of, tree_of
from torchlint.rules.shared.dtypes import dtype_of
from torchlint.rules.shared.loaders import loader_of, option

CODE = 412
CALLS = frozenset({"torch.tensor"})


def check(view: View) -> Iterator[Report]:
    """`torch.tensor(x)` where x is a tensor for certain, whoever calls the function."""
    places: dict[Site, list[Event]] = {}
    for event in view.of("call"):
        if event.name in CALLS:
            places.setdefault(event.site, []).append(event)
    for site, events in places.items():
        if not all(_copies(event) for event in events) or _converts(site, events) or any(map(_is_no_tensor, events)):
            continue
        node = site.node
        given = site.parsed.text(node.args[0].value) if isinstance(node, cst.Call) and node.args else "x"
        cost = " and cuts it off its graph" if any(_cuts(event) for event in events) else ", and PyTorch warns of it"
        value = given if len(given) <= 40 else "x"
        yield Report(CODE, site, {"call": view.call_text(site), "value": value, "cost": cost})


def _given(event: Event) -> tuple:
    return real(event.args[0] if event.args else event.kwargs.get("data"))


def _is_no_tensor(event: Event) -> bool:
    """Whether a condition around it says that the value is a list or an array: `if isinstance(x, list): x = torch.tensor(x)`."""
    node = event.site.node.args[0].value if getattr(event.site.node, "args", ()) else None
    if not isinstance(node, cst.Name):
        return False
    asked = re.compile(rf"isinstance\(\s*{node.value}\s*,(?!.*Tensor)")
    return any(guard.holds and asked.search(guard.site.text()) for guard in event.guards)


def _copies(event: Event) -> bool:
    alts = _given(event)
    return bool(alts) and all(isinstance(alt, Tensor) or _collated(alt) for alt in alts)


def _collated(value: Value) -> bool:
    """Whether a value is one of several things in a batch of a loader that makes tensors of numbers, arrays and tensors: what it
    leaves as it is, texts and lists, is nothing that a tensor can be made of. (But a list is of tensors of one number, where a
    batch has one sample.)"""
    if type(value) is not Opaque or value.source != "item" or not isinstance(value.origin, Opaque):
        return False
    loader = loader_of(value)
    if loader is None or loader.kwargs.keys() & {"*", "**"} or not loader.type.startswith("torch.utils.data."):
        return False
    plain = option(loader, "collate_fn") is None and option(loader, "batch_sampler") is None
    size = option(loader, "batch_size")
    return plain and size is not None and number(size) != 1


def _cuts(event: Event) -> bool:
    """Whether the value has a graph: it comes out of a model with gradients, or is made of what requires grad."""
    if event.grad_on is False:
        return False
    return any(
        alt.traits.get("graph") is True
        or alt.traits.get("graph") is not False
        and (
            any(flow.kind == "forward" and flow.get("grad") is True for flow in alt.flows)
            or any(isinstance(part, Tensor) and part.traits.get("graph") is True for part in alt.parts)
        )
        and not _counts(alt)
        for alt in _given(event)
        if isinstance(alt, Tensor)
    )


def _counts(value: Tensor) -> bool:
    """Whether a tensor holds whole numbers, which have no gradient."""
    found = dtype_of(value)
    return found is not None and not found[0].startswith(("float", "bfloat"))


def _converts(site: Site, events: list[Event]) -> bool:
    """Whether what is copied is an argument, and the function has callers that this run did not come from: what is an
    array for one caller has to be converted, tensor or not for the others."""
    node = site.node
    value = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    around = next((item for item in site.parsed.around(node) if isinstance(item, (cst.FunctionDef, cst.Lambda))), None)
    if value is None or not isinstance(around, cst.FunctionDef):
        return False
    inside = list(walk(value))
    if any(isinstance(item, cst.Call) for item in inside):
        return False  # what a call gave is not what the caller gave
    params = around.params
    names = {param.name.value for param in (*params.posonly_params, *params.params, *params.kwonly_params)}
    if not names & {item.value for item in inside if isinstance(item, cst.Name)}:
        return False
    name = _called(site, around.name.value)
    if name in ("forward", "__call__"):
        return False  # called by the names of objects
    tree = tree_of(text_of(site.parsed))
    callers = [item for item in ast.walk(tree) if isinstance(item, ast.Call) and _name(item.func) == name]
    return len(callers) > len({event.calls[-1] for event in events if event.calls})


def _called(site: Site, name: str) -> str:
    """The name by which a function is called: that of its class for `__init__`."""
    if name != "__init__":
        return name
    classes = site.parsed.facts.all_classes()
    return next((cls.name for cls in classes if site.parsed.unit in cls.methods.values()), name)


def _name(function: ast.expr) -> str:
    return getattr(function, "id", "") or getattr(function, "attr", "")
