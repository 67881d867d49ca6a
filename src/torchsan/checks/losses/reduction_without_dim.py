"""321: `argmax()` of a whole batch of scores, a model's last output or what has its shape.

From a forward until the next event of the model the two functions are replaced; only where somebody asked for this number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any

from torch.compiler import is_compiling

from torchsan.check import Check
from torchsan.own import functools, torch
from torchsan.probes.modules import is_compiled
from torchsan.program.layers import tensors
from torchsan.program.where import _USER, Where, _place, kind_of
from torchsan.report.printing import code_at
from torchsan.stream.brief_patches import Brief
from torchsan.stream.events import Event, is_transformed
from torchsan.stream.patches import Patches

_NAMES = ("argmax", "argmin")
_FORWARDS = 64  # after which it is looked
_TWICE = 2  # batches at which a line must do it: one may be a picture that is shown


class ReductionWithoutDim(Check):
    """One number is taken of a whole batch of scores."""

    numbers = (321,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.shapes: set[torch.Size] = set()  # of the last forward's outputs
        self.forwards = self.thread = 0
        self.last: dict[Where, int] = {}  # by line: the forward whose scores it took last
        self.replaced = Brief("places")

    def on_forward(self, event: Event) -> None:
        if event.depth or self.forwards >= _FORWARDS or not self.watch.wants(321) or is_compiled(event.subject):
            return
        self.replaced.end()
        self.shapes = {t.shape for t in tensors(event.output) if t.dim() == 2 and min(t.shape) > 1}
        if self.shapes:
            self.forwards += 1
            self.thread = get_ident()
            self.replaced.begin(self._replace)

    def before_forward(self, event: Event) -> None:
        if not event.depth:
            self.replaced.end()

    def before_optimizer_step(self, event: Event) -> None:
        self.replaced.end()

    def finish(self) -> None:
        self.replaced.end()

    def close(self) -> None:
        self.replaced.end()

    def _replace(self, patches: Patches) -> None:
        note = self.safely(self._note)
        patches.functions(torch, {name: functools.partial(_wrapped, note, name) for name in _NAMES})
        for name in _NAMES:
            patches.method(torch.Tensor, name, functools.partial(_wrapped, note, name))

    def _note(self, name: str, scores: Any, caller: Any) -> None:
        if not isinstance(scores, torch.Tensor) or scores.shape not in self.shapes or get_ident() != self.thread:
            return
        if is_compiling() or is_transformed() or kind_of(caller.f_code.co_filename) != _USER:
            return
        place = _place(caller)
        before = self.last.get(place)
        self.last[place] = self.forwards
        if before is not None and before != self.forwards:
            rows, classes = scores.shape
            self.found(321, place, call=code_at(place), name=name, fact=f"{rows} rows of {classes}: a number from 0 to {scores.numel() - 1}")


def _wrapped(note: Callable[..., None], name: str, original: Callable) -> Callable:
    def reduced(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 2 and kwargs.get("dim") is None:
            note(name, args[0] if args else kwargs.get("input"), sys._getframe(1))
        return original(*args, **kwargs)

    return reduced


CHECKS = (ReductionWithoutDim,)
