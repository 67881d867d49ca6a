"""005, 006: the half of a training step that Accelerate's objects do, and the program around them.

Who made a call is told by the frames that it came through; nothing of accelerate is imported. An optimizer that Accelerate
prepared steps once an accumulation.
"""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.callers import accelerated, accelerator_name, library_frame
from torchsan.program.layers import tensors
from torchsan.stream.events import Event

_STEPS = 64  # that are looked at
_TWICE = 2  # accumulations over one batch that must be seen
_WEIGHED = ("Div", "Mul")  # a loss that the program has divided itself


class Accelerated(Check):
    """A part of the step goes around the Accelerator, or an accumulation sees one batch again and again."""

    numbers = (5, 6)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.steps = 0
        self.plain: Event | None = None  # a backward since the last step that the program called itself
        self.weighed = False
        self.schedule: Event | None = None
        self.scheduled = 0
        self.short = 0  # accumulations over which a schedule moved with each batch
        self.inputs: list[Any] = []  # of each forward since the last step: weak references to the tensors it was given
        self.backwards = 0
        self.same = 0

    def before_forward(self, event: Event) -> None:
        if event.depth == 0 and event.grad and self._looks():
            given = [t for t in tensors((event.args, event.kwargs)) if type(t) is torch.Tensor]
            self.inputs.append([(weakref.ref(t), -1 if t.is_inference() else t._version) for t in given])
            event.where()
            self.last = event

    def before_backward(self, event: Event) -> None:
        if not self._looks():
            return
        self.backwards += 1
        if library_frame("accelerate.accelerator", "lightning") is None:
            self.plain = event
            event.where()
            root = getattr(event.subject, "grad_fn", None)
            self.weighed = root is not None and type(root).__name__.startswith(_WEIGHED)

    def on_scheduler_step(self, event: Event) -> None:
        if self._looks() and library_frame("accelerate.scheduler") is None:
            self.scheduled += 1
            event.where()
            self.schedule = event

    def before_optimizer_step(self, event: Event) -> None:
        if not self._looks():
            return
        owner, length = accelerated()
        if owner is not None:
            self.steps += 1
            self._judge(event, length, getattr(owner, "scaler", None) is not None)
        self.plain, self.inputs, self.backwards, self.scheduled = None, [], 0, 0

    def _judge(self, event: Event, length: int, scaled: bool) -> None:
        plain = self.plain
        if plain is not None and (scaled or length > 1 and not self.weighed):
            fact = "the optimizer's gradients are unscaled, the loss was not scaled" if scaled else f"gradients are {length} times too large"
            lost = "mixed precision scales no loss here, and an accumulation is not divided by its length"
            self.found(5, plain, fact=fact, call="backward()", owner=accelerator_name(), lost=lost, instead=f"{accelerator_name()}.backward(loss)")
        if length > 1 and self.scheduled >= length and self.schedule is not None and self.steps > 1:
            self.short += 1
            if self.short == _TWICE:
                lost = "it does so after each batch, and not once an accumulation"
                self.found(
                    5, self.schedule, fact=f"{self.scheduled} steps of the schedule to one of the optimizer", call="scheduler.step()",
                    owner=accelerator_name(), lost=lost, instead=f"scheduler = {accelerator_name()}.prepare(scheduler)",
                )
        if length > 1 and self.backwards == length == len(self.inputs) and _one(self.inputs):
            self.same += 1
            if self.same == _TWICE:
                self.found(6, self.last, fact=f"{length} times the same tensors", model="the model", count=length)

    def _looks(self) -> bool:
        return self.steps < _STEPS and "accelerate" in sys.modules


def _one(inputs: list[Any]) -> bool:
    """Whether all forwards were given the very same tensors, unchanged."""
    first = [(ref(), version) for ref, version in inputs[0]]
    if not first or any(tensor is None for tensor, _ in first):
        return False
    for others in inputs[1:]:
        now = [(ref(), version) for ref, version in others]
        if len(now) != len(first) or any(a is not b or one != other for (a, one), (b, other) in zip(first, now)):
            return False
    return True


CHECKS = (Accelerated,)
