"""611: the same DataLoader is built anew in every epoch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance, Opaque, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created

CODE = 611
_RUNS = re.compile(r"fold|split|trial|repeat|run|seed|task|client|stage|subset|resample", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """A loader that an iteration of a training loop makes of what was there before."""
    for event, loader in created(view):
        if not event.loops or event.guards or not isinstance(loader.cls, Ref):
            continue
        loop = event.loops[-1]
        head = loop.site.text().split(":", 1)[0]
        if (
            loop.kind != "for"
            or _RUNS.search(head)
            or not all(_there_before(view, value, loop) for value in _given(loader))
        ):
            continue
        passes = [
            other
            for other in view.of("loader.iterate")
            if other.subject is loader and other.loops and other.loops[-1] is loop
        ]
        steps = [
            step
            for step in view.of("optimizer.step")
            if loop in step.loops and len(step.loops) - step.loops.index(loop) == 2
        ]
        optimizers = [made for made in view.of("optimizer.create") if loop in made.loops]
        if passes and steps and not optimizers:
            yield Report(
                CODE,
                event.site,
                {"loader": loader.name or "the loader"},
                [(loop.site, "in each iteration of this loop")],
            )


def _given(loader: Instance) -> list[Value]:
    return [*loader.args, *loader.kwargs.values()]


def _there_before(view: View, value: Value, loop) -> bool:
    """Whether a value is the same one in every iteration, for certain."""
    for alt in real(value):
        if isinstance(alt, Instance):
            if loop in view.run.made_in.get(id(alt), (loop,)):
                return False
        elif type(alt) is Opaque:
            if alt.source not in ("param", "attr", "global"):
                return False
        elif not isinstance(alt, (Const, Ref)) and type(alt).__name__ not in ("Func", "Method", "Class"):
            return False
    return True
