"""116: a tensor that is meant to be trained, and is none of the parameters any more (or never was)."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch
from torchsan.probes import modules
from torchsan.program.autograd_graph import nodes
from torchsan.program.layers import is_a
from torchsan.program.naming import name_of
from torchsan.program.source import assigned, methods_that_use, users_class
from torchsan.program.walks import named_parts, parameters_of
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_NODES = 16  # of the graph between a parameter and what was made of it: a move, a cast, a product
_COMPUTED = (
    "`{name}` is computed from a parameter in `__init__`, so it is none itself and will not be trained",
    "compute first and make the parameter last: `nn.Parameter(...)` around it all",
)
_PLAIN = (
    "`{name}` is a plain tensor that requires grad, and no parameter of `{model}`: it will not be trained",
    "make it one: `{name} = nn.Parameter(...)`",
)
_COPY = (
    "`{optimizer}` holds a tensor that does not require grad, and passes over it in every step",
    "copy first and call `.requires_grad_()` on what the optimizer is given, or hand it the parameter itself",
)


class LostParameters(Check):
    """A tensor that is meant to be trained is no parameter."""

    numbers = (116,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.count = -1
        self.dull: dict[int, Event] = {}  # by account: where an optimizer was given tensors that require no grad

    def on_optimizer_create(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if any(map(_is_dull, account.params)):
            event.where()
            self.dull[id(account)] = event

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if account.steps == 1 and id(account) in self.dull:
            self._copies(account, event)
        if account.steps == 0 and self.count != modules.count():
            self.count = modules.count()  # the gradients of its first step are there
            for root in self.watch.modules():
                registered = {id(p) for p in parameters_of(root)}
                for path, module in named_parts(root):
                    if users_class(module) is not None:
                        self._look(path, module, registered)

    def _copies(self, account: Account, event: Event) -> None:
        made = self.dull.pop(id(account))
        dull = [p for p in account.params if _is_dull(p) and p.grad is None]
        if dull:
            self.found(
                116,
                made,
                optimizer=name_of(event.subject),
                words=_COPY,
                fact=f"{len(dull)} of {len(account.params)}, {tuple(dull[0].shape)}",
                related=((event, "the step that passes over it"),),
            )

    def _look(self, path: str, module: nn.Module, registered: set[int]) -> None:
        for name, value in list(module.__dict__.items()):
            if not is_a(value, torch.Tensor) or not value.requires_grad or id(value) in registered:
                continue
            leaves = [value] if value.is_leaf else _leaves(value)
            lost = [leaf for leaf in leaves if id(leaf) not in registered and leaf.grad is not None]
            if not lost or any(not account.ids.isdisjoint(map(id, leaves)) for account in self.ledger):
                continue
            if not value.is_leaf and not any(isinstance(leaf, nn.Parameter) for leaf in lost):
                continue
            uses = methods_that_use(module, name)
            writes = {method for method, how in uses.items() if "writes" in how}
            if writes != {"__init__"}:
                continue  # a state that methods look after
            self.found(
                116,
                assigned(module, name),
                key=(type(module), name),
                name=f"self.{name}",
                model=type(module).__name__,
                words=_PLAIN if value.is_leaf else _COMPUTED,
                fact=f"{path + '.' if path else ''}{name}, {tuple(value.shape)}; its gradient goes to no optimizer",
                details={"shape": list(value.shape)},
            )


def _is_dull(tensor: torch.Tensor) -> bool:
    """Whether an optimizer can do nothing with this tensor. A frozen parameter may thaw."""
    return not tensor.requires_grad and not isinstance(tensor, nn.Parameter)


def _leaves(value: torch.Tensor) -> list[torch.Tensor]:
    """The leaves that a tensor was computed from, as far as a few nodes tell."""
    leaves = (getattr(node, "variable", None) for node in nodes([value.grad_fn], _NODES, nearest=False))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


CHECKS = (LostParameters,)
