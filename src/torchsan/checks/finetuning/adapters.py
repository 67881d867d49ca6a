"""004: an adapter whose parameters stay as they were made. Those that no optimizer has are told by `gradients/parameters.py`."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import re, torch
from torchsan.program.naming import name_of
from torchsan.program.walks import named_parts, parameters_of
from torchsan.stream.events import Event

_STEPS = 5  # with a learning rate, after which an adapter must have moved
_LAST = 40  # steps after which nobody looks any more
_FIRST_HALF = re.compile(r"(?:^|\.)lora_(?:A|B|embedding_[AB])(?:\.|$)")
_SECOND_HALF = re.compile(r"(?:^|\.)lora_(?:B|embedding_B)(?:\.|$)")


class Adapters(Check):
    """An adapter is not trained."""

    numbers = (4,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.steps = 0
        self.looked = 0

    def on_optimizer_step(self, event: Event) -> None:
        self.looked += 1
        if self.steps >= _STEPS or self.looked > _LAST or not any(group.get("lr") for group in event.subject.param_groups):
            return
        self.steps += 1
        if self.steps == _STEPS:
            for model in self.watch.modules():
                self._judge(model, event)

    def _judge(self, model: nn.Module, event: Event) -> None:
        if not model.training:
            return  # one that only judges or teaches
        held = {id(p) for group in event.subject.param_groups for p in group["params"]}
        own = _own(model)
        if not own or any(p.is_meta for p in own.values()):
            return
        if any(p.requires_grad and p.grad is not None for p in own.values()) and not any(id(p) in held for p in own.values()):
            return
        if held.isdisjoint(map(id, parameters_of(model))):
            return
        zero = [name for name, p in own.items() if _SECOND_HALF.search(name) and _is_zero(p)]
        second = [name for name in own if _SECOND_HALF.search(name)]
        if not zero or len(zero) < len(second):
            return
        happens, mend = _cause(own)
        self.found(
            4, event, fact=f"all {len(zero)} `lora_B` of `{name_of(model) or type(model).__name__}` are zero after {_STEPS} steps",
            happens=happens, mend=mend,
        )


def _own(model: nn.Module) -> dict[str, torch.Tensor]:
    """The parameters of adapters, by name."""
    own: dict[int, tuple[str, torch.Tensor]] = {}
    for path, part in named_parts(model):
        for name, parameter in part._parameters.items():
            full = f"{path}.{name}" if path else name
            if parameter is not None and "lora_" in full and _FIRST_HALF.search(full):
                own.setdefault(id(parameter), (full, parameter))
    return dict(own.values())


def _is_zero(parameter: torch.Tensor) -> bool:
    with torch.no_grad():
        return not bool(parameter.any())


def _cause(own: dict[str, torch.Tensor]) -> tuple[str, str]:
    if not any(p.requires_grad for p in own.values()):
        return "all its parameters are frozen", "load it with `is_trainable=True`, or unfreeze what is to be trained"
    if all(p.grad is None for p in own.values()):
        return "its parameters never get a gradient", "with gradient checkpointing, call `model.enable_input_require_grads()`, or use `use_reentrant=False`"
    return "its gradients are zero", "look for what multiplies them with zero: the loss, a mask of all labels, the learning rate"


CHECKS = (Adapters,)
