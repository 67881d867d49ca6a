"""807: the model inside DistributedDataParallel is trained without the wrapper."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Instance, real
from torchlint.rules.base import Report, View

CODE = 807


def check(view: View) -> Iterator[Report]:
    """`ddp.module(x)` in a training step: the gradients of the processes are not brought together."""
    wraps = [event for event in view.of("wrap") if event.subject.type == "torch.nn.parallel.DistributedDataParallel"]
    for event in view.of("forward") if wraps else ():
        owner = _owner(event)
        if owner is None or event.grad is not True or event.mode is False:
            continue
        wrap = next((wrap for wrap in wraps if event.subject is wrap.subject or event.subject in real(wrap.module)), None)
        if wrap is None or _through_wrapper(view, wrap.subject) or _synced(view):
            continue
        if any(event in backward.flows for backward in view.of("backward")) and view.of("optimizer.step"):
            text = event.site.parsed.text(owner)
            yield Report(CODE, event.site, {"call": f"{text}.module", "model": text}, [(wrap.site, "wrapped here")])


def _owner(event: Event):
    """The node of `ddp` in `ddp.module(...)` or `ddp.module.forward(...)`."""
    func = event.site.node.func if isinstance(event.site.node, cst.Call) else None
    if isinstance(func, cst.Attribute) and func.attr.value == "forward":
        func = func.value
    return func.value if isinstance(func, cst.Attribute) and func.attr.value == "module" else None


def _through_wrapper(view: View, wrapper: Instance) -> bool:
    """Whether the same run calls the wrapper as well: then the by-pass may be meant, for a first part of an accumulation."""
    for event in view.of("forward"):
        node = event.site.node
        if event.grad is True and _owner(event) is None and isinstance(node, cst.Call) and wrapper in real(event.subject):
            return True
    return False


def _synced(view: View) -> bool:
    """Whether the program brings gradients together itself."""
    return bool(view.of("collective"))
