"""510: the output of a layer without batch_first is read as if the batch came first."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Opaque, real
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.reached import may_be_dead

CODE = 510
_WHAT = {
    "last": "takes the last example of the batch, not the last step",
    "mean": "takes the mean over the batch, not over the steps",
}


def check(view: View) -> Iterator[Report]:
    """`out, _ = self.lstm(x)`, then `out[:, -1]`, where `self.lstm` was made without batch_first."""
    yield from once(
        _report(view, event)
        for event in view.of("batch_taken")
        if not may_be_dead(event) and not _of_one(event) and _whole(event)
    )


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


def _report(view: View, event: Event) -> Report:
    layer = event.subject.type.removeprefix("torch.nn.")
    made = event.subject.site
    related = [(made, f"this `{layer}` has no `batch_first=True`")] if made is not None else []
    return Report(
        CODE, event.site, {"call": view.call_text(event.site), "what": _WHAT[event.how], "layer": layer}, related
    )
