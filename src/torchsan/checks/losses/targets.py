"""306 and 307: class targets of the wrong dtype, or outside the classes."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_CLASS_LOSSES = frozenset(("cross_entropy", "nll_loss"))
_FIRST = 3  # calls whose target is read before the kernel runs, where an assert of the device would end the process


class Targets(Check):
    """Class targets are of the wrong dtype or outside the range of classes."""

    numbers = (306, 307)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.calls = 0

    def before_loss(self, event: Event) -> None:
        target = event.target
        if isinstance(target, torch.Tensor) and target.dtype is torch.int64 and not target.is_cuda:
            return
        pair = _classes(event)
        if pair is None:
            return
        given, target = pair
        if target.dtype not in (torch.int64, torch.uint8):
            dtype = str(target.dtype).removeprefix("torch.")
            name = name_of(target) or "target"
            wanted = {"dtype": f"torch.{dtype}", "wanted": "torch.int64"}
            roles = {"loss": event.subject, "call": event.subject, "value": name, "name": name, **wanted}
            self.found(306, event, fact=f"`{name}` is {dtype}", **roles)
        elif target.device.type == "cuda" and (self.calls < _FIRST or self.thorough):
            self.calls += 1
            self._range(event, given, target)

    def on_loss(self, event: Event) -> None:
        if event.error is not None:
            pair = _classes(event)
            if pair is not None and pair[1].dtype in (torch.int64, torch.uint8) and pair[1].device.type == "cpu":
                self._range(event, *pair)

    def _range(self, event: Event, given: torch.Tensor, target: torch.Tensor) -> None:
        classes = given.shape[0] if given.dim() == 1 else given.shape[1]
        ignored = event.kwargs.get("ignore_index", event.args[4] if len(event.args) > 4 else -100)
        with torch.no_grad():
            wrong = ((target < 0) | (target >= classes)) & (target != ignored)
            if not bool(wrong.any()):
                return
            value = int(target[wrong].flatten()[0])
        self.found(
            307,
            event,
            loss=event.subject,
            call=event.subject,
            label=value,
            classes=classes,
            last=classes - 1,
            details={"value": value, "classes": classes},
        )


def _classes(event: Event) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Input and target of a class loss whose target holds class numbers (probabilities have the input's shape)."""
    given, target = event.input, event.target
    if event.subject not in _CLASS_LOSSES:
        return None
    if not isinstance(given, torch.Tensor) or not isinstance(target, torch.Tensor):
        return None
    if given.dim() == 0 or target.dim() != given.dim() - 1:
        return None
    return given, target


CHECKS = (Targets,)
