"""510: the output of a layer without batch_first is read as if the batch came first."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.axes import steps_first
from torchlint.dryrun.values import Event, Instance, Opaque, Ref, Tensor, Value, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.fed_batches import fed_batch
from torchlint.rules.shared.reached import may_be_dead

CODE = 510
_WHAT = {
    "last": "takes the last example of the batch, not the last step",
    "mean": "takes the mean over the batch, not over the steps",
    "flat": "lays the batch of each step side by side, not the steps of each example",
}
_FED = (
    "`{call}` runs along the batch that `{loader}` puts first: `{layer}` takes (steps, batch, features)",
    "make the layer with `batch_first=True`",
)
_NO_BATCH_FIRST = "this `{}` has no `batch_first=True`"
_TO_ROWS = frozenset({"view", "reshape", "flatten"})


def check(view: View) -> Iterator[Report]:
    """`out, _ = self.lstm(x)`, then `out[:, -1]`, where `self.lstm` was made without batch_first; or `out.flatten(1)`, for a layer that takes
    the features of so many steps at once."""
    taken = [event for event in view.of("batch_taken") if not may_be_dead(event) and not _of_one(event) and _whole(event)]
    yield from once(_report(view, event.site, event.subject, event.how) for event in taken)
    flat = [found for event in view.of("forward") if (found := _laid_flat(view, event)) is not None]
    yield from once(_report(view, site, module, "flat") for site, module in flat)
    told = {id(event.subject) for event in taken} | {id(module) for _, module in flat}
    yield from once(_fed(view, told))


def _fed(view: View, told: set[int]) -> Iterator[Report]:
    """Of layers of which nothing is read wrongly: those that are given a loader's batches as they came."""
    for event in view.of("forward"):
        module = event.subject
        if id(module) in told or not isinstance(module, Instance) or not isinstance(module.cls, Ref) or not steps_first(module):
            continue
        loader = fed_batch(view, event) if not may_be_dead(event) else None
        if loader is not None:
            layer = module.type.removeprefix("torch.nn.")
            roles = {"call": view.call_text(event.site), "layer": layer, "loader": loader.name or "the loader"}
            said = ((loader.site, "its batches have the samples first"), (module.site, _NO_BATCH_FIRST.format(layer)))
            yield Report(CODE, event.site, roles, [(site, text) for site, text in said if site is not None], words=_FED)


def _laid_flat(view: View, event: Event) -> tuple[Site, Instance] | None:
    """Where the whole output of a layer without batch_first is made rows for a Linear that takes several of its steps, and that layer."""
    alts = real(event.args[0]) if event.args else ()
    wide = view.run.whole(event.subject.arg(0, "in_features")) if getattr(event.subject, "type", "") == "torch.nn.Linear" else None
    if wide is None or len(alts) != 1 or may_be_dead(event):
        return None
    output = _made_rows(alts[0])
    found = view.run.time_first(output) if output is not None else None
    width = view.run.noted_shape(output).at(-1) if found is not None else None
    if not width or wide <= width or wide % width or view.run.noted_shape(found[1]).at(-2) == 1:
        return None
    return alts[0].site, found[0]


def _made_rows(value: Value) -> Value | None:
    """What was laid flat behind its first dimension: `x.flatten(1)`, `x.view(x.size(0), -1)`, `nn.Flatten()(x)`."""
    if not isinstance(value, Opaque) or value.site is None or not isinstance(value.site.node, cst.Call):
        return None
    if isinstance(value.origin, Instance) and value.origin.type == "torch.nn.Flatten" and not value.origin.args and not value.origin.kwargs:
        call = value.traits.get("out_of") if isinstance(value, Tensor) else None
        return call.args[0] if call is not None and call.args else None
    func, args = value.site.node.func, value.site.node.args
    if not isinstance(func, cst.Attribute) or func.attr.value not in _TO_ROWS:
        return None
    sizes = [value.site.parsed.text(arg.value) for arg in args]
    rows = sizes == ["1"] or sizes[1:] == ["1"] if func.attr.value == "flatten" else len(sizes) == 2 and sizes[1] == "-1" and sizes[0] not in ("1", "-1")
    return value.origin if rows else None


def _of_one(event: Event) -> bool:
    """Whether the batch is known to have one example: then its last one is all of it."""
    if event.shape.rank == 3 and event.shape.dims[1] == 1:
        return True
    for given in real(event.given):
        site = given.site if isinstance(given, Opaque) else None
        if (
            site is not None
            and isinstance(site.node, cst.Call)
            and getattr(getattr(site.node.func, "attr", None), "value", "") == "unsqueeze"
        ):
            return True
    return False


def _whole(event: Event) -> bool:
    """Whether the first dimension is taken whole: `:` and not a part of it."""
    node = event.site.node
    if not isinstance(node, cst.Subscript):
        return True
    first = node.slice[0].slice
    return isinstance(first, cst.Slice) and first.lower is None and first.upper is None


def _report(view: View, site: Site, module: Instance, how: str) -> Report:
    layer = module.type.removeprefix("torch.nn.")
    related = [(module.site, _NO_BATCH_FIRST.format(layer))] if module.site is not None else []
    return Report(CODE, site, {"call": view.call_text(site), "what": _WHAT[how], "layer": layer}, related)
