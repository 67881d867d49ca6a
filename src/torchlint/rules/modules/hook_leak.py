"""512: hooks pile up: one more is registered each time, and none is removed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Instance
from torchlint.rules.base import Report, View

CODE = 512
_HOOK = re.compile(r"^register_(?:full_)?(?:forward|backward)(?:_pre)?_hook$|^register_forward_(?:pre_)?hook$")


def check(view: View) -> Iterator[Report]:
    """`layer.register_forward_hook(...)` in forward, or in a training loop, with the handle dropped."""
    for event in view.of("hook"):
        if not _HOOK.match(event.name) or event.guards or not isinstance(event.subject, Instance) or _removed(event):
            continue
        if event.in_forward and not event.loops:
            where = "every forward"
        elif event.loops and _same_module(view, event) and _trains(view, event):
            where = "every round of the loop"
        else:
            continue
        owner = event.site.node.func.value if isinstance(event.site.node, cst.Call) else None
        name = event.site.parsed.text(owner) if owner is not None else "the module"
        yield Report(CODE, event.site, {"module": name if len(name) <= 40 else "the module", "where": where})


def _removed(event: Event) -> bool:
    """Whether the file speaks of taking hooks out again."""
    words = event.site.parsed.facts.words
    return bool(words & {"remove", "_forward_hooks", "_backward_hooks", "remove_hooks", "clear_hooks"})


def _same_module(view: View, event: Event) -> bool:
    """Whether the module is the same one in every round: it was there before the loop."""
    made = view.run.made_in.get(id(event.subject))
    return made is not None and event.loops[-1] not in made


def _trains(view: View, event: Event) -> bool:
    loop = event.loops[-1]
    return any(loop in other.loops for other in view.of("optimizer.step", "backward"))
