"""809: parameters under DistributedDataParallel got no gradient in a step: by name, at the first step, before the forward that
raises, so that it is told of a run of one step, too."""

from __future__ import annotations

from typing import Any

from torch.nn.parallel import DistributedDataParallel

from torchsan.check import Check
from torchsan.own import weakref
from torchsan.stream.events import Event

_STEPS = 3  # of a wrapper that are looked at
_NAMED = 4
_HELP = "use them in the loss, freeze or remove them, or pass `find_unused_parameters=True`"


class UnusedParameters(Check):
    """A step was made, and parameters that the wrapper waits for have no gradient."""

    numbers = (809,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.forward: tuple[Event, Any] | None = None
        self.backward = False
        self.steps: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def before_forward(self, event: Event) -> None:
        model = event.subject
        if not isinstance(model, DistributedDataParallel) or not event.grad or self.steps.get(model, 0) >= _STEPS:
            return
        waits = model.require_backward_grad_sync and not model.find_unused_parameters and not getattr(model, "static_graph", False)
        self.forward = (event, weakref.ref(model)) if waits else None
        self.backward = False
        event.where()

    def on_backward(self, event: Event) -> None:
        self.backward = self.forward is not None

    def before_optimizer_step(self, event: Event) -> None:
        if self.forward is None or not self.backward:
            return
        (forward, ref), self.forward = self.forward, None
        model = ref()
        if model is None:
            return
        self.steps[model] = self.steps.get(model, 0) + 1
        held = {id(p) for group in event.subject.param_groups for p in group["params"]}
        waited = getattr(model, "_module_parameters", None)
        awaited = {id(p) for p in waited} if waited is not None else held
        named = [
            (name, p) for name, p in model.module.named_parameters()
            if p.requires_grad and id(p) in awaited and name not in model.parameters_to_ignore
        ]
        unused = [name for name, p in named if p.grad is None]
        # Where none has one, gradients were cleared, or the backward went to another model.
        if not unused or len(unused) == len(named) or all(p.grad is None for _, p in named if id(p) in held):
            return
        shown = ", ".join(f"`{name}`" for name in unused[:_NAMED])
        more = f" and {len(unused) - _NAMED} more" if len(unused) > _NAMED else ""
        got = f"{shown}{more} got no gradient in this step, and `DistributedDataParallel` waits for {'them' if len(unused) > 1 else 'it'}"
        self.found(
            809, forward, words=(f"{got}: the next forward raises", _HELP), details={"parameters": len(unused), "first": unused[0]},
        )


CHECKS = (UnusedParameters,)
