"""011: another loader of Accelerate's was begun and left, and the accumulation goes by its end.

Accelerate keeps one state for the process: which loaders are being gone through, and which of them decides. It is read, where
the program has imported accelerate, at each backward of an accumulation.
"""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.own import weakref
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

_TWICE = 2
_MANY = 64


class SecondLoader(Check):
    """An accumulation goes by another loader than the one that gives the batches."""

    numbers = (11,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.last: weakref.ref | None = None  # the loader that gave the last batch
        self.times = 0
        self.begun: dict[int, Where | None] = {}  # by loader's id: where its newest pass began; asked for those that live

    def before_loader_iterate(self, event: Event) -> None:
        if "accelerate.state" in sys.modules:
            if len(self.begun) > _MANY:
                self.begun.clear()
            self.begun[id(event.subject)] = event.where()

    def on_loader_batch(self, event: Event) -> None:
        self.last = weakref.ref(event.subject)

    def on_backward(self, event: Event) -> None:
        state = getattr(sys.modules.get("accelerate.state"), "GradientState", None)
        shared = getattr(state, "_shared_state", None)
        last = self.last() if self.last is not None else None
        if not shared or last is None or not event.reached:
            return
        steps = getattr(shared.get("plugin_kwargs"), "get", lambda *_: 1)("num_steps", 1)
        going = [loader for ref in shared.get("_dataloader_references_ref", ()) if (loader := _living(ref)) is not None]
        if steps in (None, 1) or len(going) < 2 or not any(_is(one, last) for one in going) or _is(going[-1], last):
            self.times = 0
            return
        active = going[-1]
        self.times += 1
        if self.times == _TWICE:
            other, own = name_of(active) or "another loader", name_of(last) or "the training's loader"
            place = next((self.begun[id(one)] for one in (active, getattr(active, "base_dataloader", None)) if id(one) in self.begun), None)
            self.found(
                11, place or event, other=other, own=own, how="was begun", fact=f"an accumulation over {steps} batches",
                related=((event, f"from here on an accumulation goes by the end of `{other}`"),) if place else (),
            )


def _living(thing: Any) -> Any:
    return thing() if isinstance(thing, weakref.ref) else thing


def _is(one: Any, other: Any) -> bool:
    """Whether two loaders are one, or one around the other."""
    return one is other or getattr(one, "base_dataloader", None) is other or getattr(other, "base_dataloader", None) is one


CHECKS = (SecondLoader,)
