"""921: a compiled function leaves its graph, to read a number or to print."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Event, Tensor, real
from torchlint.rules.base import Report, View

CODE = 921
WATCHED = frozenset({"torch.compile"})
# `.numpy()` is no break: torch.compile follows NumPy.
_READS = {"item", "tolist"}
_BUILTINS = {"float", "int", "bool", "print"}


def check(view: View) -> Iterator[Report]:
    """`.item()`, `float(x)`, `print`, `if x.sum() > 0` in the forward of a model given to torch.compile."""
    told = set()
    for event in view.of("readout", "decided"):
        if event.site in told or not _leaves(event):
            continue
        begins = _compiled(view, event)
        if begins is not None:
            told.add(event.site)
            yield Report(CODE, event.site, {"call": _words(view, event)}, [(begins, "this is compiled")])


def _words(view: View, event: Event) -> str:
    text = view.call_text(event.site)
    return f"if {text}" if event.kind == "decided" else text


def _leaves(event: Event) -> bool:
    """Whether Python needs the number behind a tensor here."""
    tensor = bool(real(event.subject)) and all(isinstance(alt, Tensor) for alt in real(event.subject))
    if event.kind == "decided":
        return tensor
    func = event.site.node.func if isinstance(event.site.node, cst.Call) else None
    if isinstance(func, cst.Name):
        return func.value == "print" or tensor and func.value in _BUILTINS
    return tensor and event.name in _READS


def _compiled(view: View, event: Event):
    """The call of torch.compile that compiles the code around an event. What stands under a condition of the user's own
    may be there to look at."""
    for call in view.of("call"):
        if call.name != "torch.compile" or not call.args or _whole(call):
            continue
        models = {id(alt) for alt in real(call.args[0])}
        for forward in view.of("forward"):
            inside = forward.site in event.calls and any(id(alt) in models for alt in real(forward.subject))
            if inside and set(event.guards) <= set(forward.guards):
                return call.site
    return None


def _whole(call: Event) -> bool:
    """Whether the whole graph is asked for: a break raises then, and what can be captured is."""
    given = call.kwargs.get("fullgraph")
    return given is not None and not (isinstance(given, Const) and given.value is False)
