"""410: float64 creeps into a float32 model's loss.

`float32 - float64` is float64, and nothing says so. A conversion that the user wrote (`.double()`) leaves a ToCopy
node in the graph and is taken to be meant; a promotion leaves none.
"""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.autograd_graph import node_name, nodes
from torchsan.program.layers import tensors
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_LOOKS = 4  # events of each kind that are looked at


class Float64(Check):
    """float64 values creep into a float32 model."""

    numbers = (410,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.left = {"loss": _LOOKS, "forward": _LOOKS, "backward": _LOOKS}

    def _looks(self, kind: str) -> bool:
        self.left[kind] -= 1
        return self.left[kind] >= 0

    def before_loss(self, event: Event) -> None:
        given, target = event.input, event.target
        if not (self._looks("loss") and isinstance(given, torch.Tensor) and isinstance(target, torch.Tensor)):
            return
        if given.is_floating_point() and target.dtype == torch.float64 != given.dtype and target.dim():
            self._say(event, "target", target, loss=event.subject, call=event.subject)

    def before_forward(self, event: Event) -> None:
        if event.depth or not self._looks("forward"):
            return
        given = next((one for one in tensors((event.args, event.kwargs)) if one.dtype == torch.float64), None)
        if given is None:
            return
        kinds = {p.dtype for p in event.subject.parameters() if p.is_floating_point()}
        if kinds and torch.float64 not in kinds:
            model = name_of(event.subject)
            self._say(event, name_of(given) or "input", given, model=model, call=f"{model or 'model'}(...)")

    def before_backward(self, event: Event) -> None:
        loss = event.subject
        if not self._looks("backward") or not isinstance(loss, torch.Tensor) or loss.dtype != torch.float64:
            return
        held = [p.dtype for account in self.ledger for p in account.params]
        if held and torch.float64 not in held and not _converted(loss.grad_fn):
            name = name_of(loss) or "loss"
            self._say(event, name, loss, loss=name, call=f"{name}.backward()")

    def _say(self, event: Event, name: str, value: torch.Tensor, **roles: Any) -> None:
        # The first place is where it comes in; what follows from it is not news.
        self.left = dict.fromkeys(self.left, 0)
        what = f"`{name}`, of shape {tuple(value.shape)}"
        self.found(410, event, name=name, value=name, what=what, **roles)


def _converted(node: Any, left: int = 40) -> bool:
    """Whether a conversion of dtype that was asked for stands in the graph near its root."""
    return any(node_name(at) == "ToCopy" for at in nodes([node], left))


CHECKS = (Float64,)
