"""321: one number is taken of a whole batch of scores."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Event, Instance, Iter, Value, number, real
from torchlint.rules.base import Report, View

CODE = 321
_NAMES = ("argmax", "argmin")
CALLS = frozenset({*(f"torch.{name}" for name in _NAMES), *(f".{name}" for name in _NAMES)})


def check(view: View) -> Iterator[Report]:
    """`model(x).argmax()` in a loop over a loader that gives more than one sample at a time."""
    for event in view.of("call", "method"):
        name = (event.name or "").rpartition(".")[2]
        if name not in _NAMES or event.kwargs or not event.loops:
            continue
        scores = event.args[0] if event.kind == "call" and len(event.args) == 1 else event.subject if not event.args else None
        if scores is None or not any(flow.kind == "forward" for flow in scores.flows) or not _of_batches(event):
            continue
        if _is_part(event):
            continue
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "name": name})


def _is_part(event: Event) -> bool:
    """Whether it is taken of an item, `scores[0].argmax()`: one row, it may be."""
    site = event.site.node
    if not isinstance(site, cst.Call):
        return False
    over = site.args[0].value if event.kind == "call" and site.args else getattr(site.func, "value", None)
    return isinstance(over, cst.Subscript)


def _of_batches(event: Event) -> bool:
    """Whether the innermost loop goes over a loader with batches of more than one."""
    loaders = [alt for alt in real(_base(event.loops[-1].over)) if isinstance(alt, Instance) and alt.kind == "loader"]
    return bool(loaders) and all(_size(loader) for loader in loaders)


def _base(over: Value | None) -> Value | None:
    while isinstance(over, Iter):
        over = over.base
    return over


def _size(loader: Instance) -> bool:
    size = loader.arg(1, "batch_size")
    if size is None or "**" in loader.kwargs:
        return False  # a batch of one, or one that somebody else says
    return number(size) not in (None, 0, 1) or not isinstance(size, Const)
