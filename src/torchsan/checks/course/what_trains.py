"""What trains in the first step: parameters, adapters and frozen ones, their dtypes, and each group's learning rate. No check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from torch import nn

from torchsan.own import re, torch
from torchsan.report.first_batch import Group, Parameters
from torchsan.stream.ledger import Account, innermost

_ADAPTER = re.compile(
    r"(^|\.)(lora_\w+|ia3_\w+|adapter\w*|modules_to_save|prompt_encoder|prompt_embeddings|oft_\w+|hada_\w+|vera_\w+|adaption_\w+|trainable_tokens_\w+)(\.|$)"
)


def parameters_of(model: nn.Module, accounts: Iterable[Account]) -> Parameters:
    """What trains of a model by these optimizers."""
    # A framework's optimizer around another one has the same groups.
    accounts = [one for one in accounts if (inside := one.optimizer) is not None and innermost(inside) is inside]
    held = {one for account in accounts for one in account.ids}
    named = list(model.named_parameters())
    learns = [(name, p) for name, p in named if p.requires_grad]
    frozen = [p for _, p in named if not p.requires_grad]
    return Parameters(
        trained=_size(p for _, p in learns),
        frozen=_size(frozen),
        adapters=_size(p for name, p in learns if _ADAPTER.search(name)),
        unknown=_size(p for _, p in learns if id(p) not in held),
        dtypes=_dtypes(p for _, p in learns),
        frozen_dtypes=_dtypes(frozen),
        groups=tuple(_group(account.optimizer, group) for account in accounts for group in getattr(account.optimizer, "param_groups", ()) if group["params"]),
    )


def _group(optimizer: Any, group: dict[str, Any]) -> Group:
    return Group(
        type(optimizer).__name__, _number(group.get("lr")), _number(group.get("initial_lr")), _number(group.get("weight_decay")),
        _size(group["params"]), _size(p for p in group["params"] if p.requires_grad), _dtypes(group["params"]),
    )


def _number(value: Any) -> float | None:
    """A number that is there without a wait for the device."""
    if isinstance(value, torch.Tensor):
        return float(value) if value.device.type == "cpu" and value.numel() == 1 else None
    return float(value) if isinstance(value, (int, float)) else None


def _size(parameters: Iterable[torch.Tensor]) -> int:
    return sum(p.numel() for p in parameters if not nn.parameter.is_lazy(p))


def _dtypes(parameters: Iterable[torch.Tensor]) -> tuple[str, ...]:
    sizes: Counter[str] = Counter()
    for p in parameters:
        sizes[str(p.dtype).removeprefix("torch.")] += 0 if nn.parameter.is_lazy(p) else p.numel()
    return tuple(name for name, _ in sizes.most_common())
