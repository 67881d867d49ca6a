"""923: the time that a model takes is measured, and nobody waits for it to finish."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View
from torchlint.rules.mends.rows import Place, statement_at

CODE = 923
WATCHED = frozenset({"time.time", "time.perf_counter", "time.monotonic", "timeit.default_timer"})
_CLOCKS = frozenset(name.rpartition(".")[2] for name in WATCHED)
# Detectors look at their boxes, and wait for them inside.
_DETECTS = re.compile(r"nms|rcnn|bbox|boxes|detection", re.IGNORECASE)
# What may be called between the two looks at the clock, besides the model: nothing that could wait for the device.
_QUICK = frozenset(
    "no_grad inference_mode autocast float half to cuda unsqueeze squeeze view reshape permute size softmax sigmoid"
    " detach time perf_counter monotonic default_timer backward zero_grad".split()
)
_DEVICE = re.compile(r"\.cuda\(|[\"']cuda|\bdevice\b|\bgpu\b")


def check(view: View) -> Iterator[Report]:
    """`t = time.time(); out = model(x); print(time.time() - t)`, with a model on a CUDA device."""
    looks = [event for event in view.of("call") if event.name in WATCHED]
    begins = [(event, place) for event in looks if (place := _assigned(event)) is not None]
    for event, place in begins:
        name = place.statement.targets[0].id
        for index in range(place.index + 1, len(place.block)):
            item = place.block[index]
            if not isinstance(item, (ast.Expr, ast.Assign, ast.AugAssign, ast.With)):
                break
            if _ends(item, name):
                found = _work(view, event, place.block[place.index + 1 : index + 1])
                if found is not None:
                    related = [(found.site, "this is queued, and comes back")]
                    yield Report(CODE, event.site, {"call": view.call_text(found.site)}, related)
                break


def _assigned(event: Event) -> Place | None:
    """The statement `t = time.time()`."""
    place = statement_at(event.site)
    found = place.statement if place is not None else None
    if not isinstance(found, ast.Assign) or len(found.targets) != 1 or not isinstance(found.targets[0], ast.Name):
        return None
    return place if isinstance(found.value, ast.Call) and place.alone else None


def _ends(item: ast.stmt, name: str) -> bool:
    """Whether a statement looks at the clock again, for the time since `name`, or to be compared with it."""
    clock = any(isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _CLOCKS for node in ast.walk(item))
    return clock and isinstance(item, (ast.Expr, ast.Assign, ast.AugAssign))


def _work(view: View, begin: Event, items: list[ast.stmt]) -> Event | None:
    """The forward pass that lies between, where nothing there could wait for it."""
    first, last = items[0].lineno, items[-1].end_lineno
    text = "".join(begin.site.parsed.facts.lines)
    loops = any(isinstance(node, (ast.For, ast.While)) for one in items for node in ast.walk(one))
    if not _DEVICE.search(text) or _DETECTS.search(text) or loops:
        return None
    inside = [
        event for event in view.of("forward", "readout", "unknown", "backward")
        if event.calls == begin.calls and event.site.parsed is begin.site.parsed
        and first <= event.site.location().row <= last
    ]
    forwards = [event for event in inside if event.kind == "forward"]
    waits = any(event.kind == "unknown" or event.kind == "readout" and event.subject.flows for event in inside)
    if not forwards or waits:
        return None
    known = {event.site.location().row for event in forwards}
    for one in items:
        for node in ast.walk(one):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if name and node.lineno not in known and not (name in _QUICK or one is items[-1]):
                return None
    return forwards[-1]
