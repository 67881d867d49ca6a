"""006: an inner loop gives an accumulation the same batch again and again."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Loop, Opaque, Value, real
from torchlint.rules.base import Report, View

CODE = 6
_RANDOM = ("rand", "noise", "shuffle", "perm", "sample", "augment", "timestep", "epoch", "next")


def check(view: View) -> Iterator[Report]:
    """`for _ in range(k)` with `with accelerator.accumulate(model)` in it, over what the loop around it gave."""
    for event in view.of("forward"):
        within = [context for context in event.contexts if context.kind == "accumulate"]
        if not within or len(event.loops) < 2 or event.get("inside") or event.get("grad") is False:
            continue
        loop = event.loops[-1]
        count = _count(loop)
        if count is None or not _opened_in(within[0], loop) or _looks_at(loop):
            continue
        given = [value for value in (*event.get("args", ()), *(event.get("kwargs") or {}).values()) if not isinstance(value, Const)]
        if not given or not all(_before(value, loop) for value in given) or not any(_of_batch(value, event.loops[:-1]) for value in given):
            continue
        if not any(backward.loops == event.loops and event in backward.flows for backward in view.of("backward")):
            continue
        roles = {"model": view.owner_text(event, "model"), "count": count}
        yield Report(CODE, event.site, roles, [(loop.site, "nothing that the model is given changes in this loop")])


def _count(loop: Loop) -> str | None:
    """How often `for _ in range(k)` turns, as it is written; None for any other loop."""
    node = loop.site.node if loop.site is not None else None
    node = node.iter if isinstance(node, cst.For) else node
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Name) or node.func.value != "range" or len(node.args) != 1:
        return None
    text = loop.site.parsed.text(node.args[0].value)
    return text if len(text) < 40 else "several"


def _opened_in(context, loop: Loop) -> bool:
    """Whether an accumulation is entered anew in each turn of a loop."""
    row, start = context.site.location().row, loop.site.location()
    return context.site.parsed is loop.site.parsed and row >= start.row


def _looks_at(loop: Loop) -> bool:
    """Whether what is done in a loop may draw something anew: then its turns differ."""
    node = next((item for item in (loop.site.node, *loop.site.parsed.around(loop.site.node)) if isinstance(item, cst.For)), None)
    if node is None:
        return True
    text = loop.site.parsed.module.code_for_node(node.body).lower()
    return any(word in text for word in _RANDOM)


def _before(value: Value, loop: Loop) -> bool:
    """Whether a value was there before a loop began."""
    return all(isinstance(alt, Const) or getattr(alt, "serial", getattr(alt, "born", loop.serial + 1)) < loop.serial for alt in real(value))


def _of_batch(value: Value, loops: tuple[Loop, ...]) -> bool:
    """Whether a value was made in the loop around."""
    return any(isinstance(alt, Opaque) and alt.serial > loops[-1].serial for alt in real(value))


