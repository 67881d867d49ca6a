"""507: several places in a model, one layer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Const, Event, Instance, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.modules.modules_in_plain_container import _trains
from torchlint.rules.shared.layers_as_defaults import shared_defaults

CODE = 507
_ON_PURPOSE = re.compile(r"shar|tied|tie_|recur|same|universal", re.IGNORECASE)

_DEFAULT = (
    "`{call}` is made once, where the function is defined: all places of the model that are made without `{name}` hold this one layer",
    "make it in the function: `{name}=None`, and `{call}` where that is None",
)


def check(view: View) -> Iterator[Report]:
    """`[layer] * n`, `[layer for _ in range(n)]`, and a batch norm behind two different layers."""
    for event in view.of("repeat"):
        layer = event.subject
        if (
            not isinstance(layer, Instance)
            or layer.kind != "module"
            or event.get("count") in (0, 1)
            or not _trains(view, layer)
        ):
            continue
        if isinstance(event.site.node, cst.ListComp) and not _made_outside(view, event, layer):
            continue
        if _ON_PURPOSE.search(event.site.text()) or not _kept(view, event):
            continue
        related = [(layer.site, "this one layer is meant by each of them")] if layer.site is not None else []
        where = "in each place of the list" if isinstance(event.site.node, cst.BinaryOperation) else "in each round"
        yield Report(
            CODE, event.site, {"call": view.call_text(event.site), "what": "one layer", "where": where}, related
        )
    yield from _norms(view)
    for site, name in shared_defaults(view):
        if not _ON_PURPOSE.search(name):
            yield Report(CODE, site, {"call": view.call_text(site), "name": name}, words=_DEFAULT)


def _made_outside(view: View, event: Event, layer: Instance) -> bool:
    """Whether the list goes over numbers, and the layer was there before."""
    inner = event.site.node.for_in
    loops = view.run.made_in.get(id(layer))
    return event.site.parsed.text(inner.iter).startswith("range(") and loops is not None and loops == event.loops


def _kept(view: View, event: Event) -> bool:
    """Whether the list goes into a container of layers, or stays on a module."""
    node = event.site.node
    text = event.site.parsed.text
    for parent in view.of("setattr"):
        value = getattr(parent.site.node, "value", None)
        if value is not None and parent.site.parsed is event.site.parsed and _within(node, value):
            return isinstance(parent.subject, Instance) and parent.subject.kind == "module"
    lines = "".join(event.site.parsed.facts.lines[event.site.parsed.unit.start - 1 : event.site.parsed.unit.end])
    flat = " ".join(lines.split())
    return bool(re.search(r"(?:ModuleList|Sequential)\(\s*\*?\s*\(?" + re.escape(text(node)), flat))


def _within(node: cst.CSTNode, around: cst.CSTNode) -> bool:
    return any(item is node for item in walk(around))


def _norms(view: View) -> Iterator[Report]:
    """Batch norms that one forward calls behind layers that have nothing to do with each other."""
    uses: dict[int, list[Event]] = {}
    for event in view.of("forward"):
        norm = event.subject
        if not isinstance(norm, Instance) or not norm.type.startswith("torch.nn.BatchNorm") or not event.args:
            continue
        # By its own name, not as a part of a block that is used twice.
        if isinstance(event.site.node, cst.Call) and event.site.parsed.text(event.site.node.func) == norm.name:
            uses.setdefault(id(norm), []).append(event)
    for events in uses.values():
        first = events[0]
        before = _layer_before(first.args[0])
        for event in events[1:]:
            same_place = event.site == first.site or event.site.parsed is not first.site.parsed
            if same_place or event.guards != first.guards or event.loops or event.calls != first.calls:
                continue
            layer = _layer_before(event.args[0])
            if before is None or layer is None or layer is before:
                continue
            roles = {
                "call": view.call_text(event.site),
                "what": "one batch norm, with one mean and variance,",
                "where": "behind two layers",
            }
            yield Report(CODE, event.site, roles, [(first.site, "it is called behind another layer here")])
            break


def _layer_before(value: Value) -> Instance | None:
    """The layer with weights that a value came out of last."""
    for _ in range(8):
        alts = real(value)
        if len(alts) != 1 or not isinstance(alts[0], Opaque):
            return None
        origin = alts[0].origin
        if isinstance(origin, Instance):
            return origin if origin.type.startswith(("torch.nn.Conv", "torch.nn.Linear")) else None
        if origin is None or isinstance(origin, Const):
            return None
        value = origin
    return None
