"""117, 136: the gradients of a backward go elsewhere: to no parameter at all, or to those of another optimizer."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.autograd_graph import nodes
from torchsan.program.naming import name_of
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_TWICE = 2  # steps of the wrong optimizer until it is said
_NODES = 1 << 12  # of a graph to look through: what is larger is taken for sound
_COPIED = (
    "`{loss}` is a copy of a number and knows no model: `{loss}.backward()` fills no gradient of a parameter",
    "call `backward()` on the loss as it was computed: no `torch.tensor(...)`, `Variable(...)` or `requires_grad_()` "
    "around it",
)
_CUT = (
    "`{loss}.backward()` reaches no parameter: its graph begins at a tensor that no layer led to",
    "keep to tensors that carry the graph: no `torch.tensor(...)`, `.item()`, `.detach()`, `.numpy()` or `argmax` on "
    "the way from the model to the loss",
)


class Astray(Check):
    """The gradients of a backward do not reach the optimizer that steps."""

    numbers = (117, 136)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.last: Event | None = None  # the last backward
        self.ends: tuple[int, ...] | None = None  # where its graph begins, if that is at no parameter: a shape
        self.used: dict[int, tuple[int, int]] = self.ledger.while_alive({})  # by id of the account: the first gradient after its last step
        self.misses: dict[tuple[int, int], int] = {}  # by ids of the accounts that should step, and did
        self.wrong: set[int] = self.ledger.while_alive(set())  # ids of accounts for which 136 was said, or soon will be

    def on_backward(self, event: Event) -> None:
        self.last = event
        self.ends = None
        if not event.reached and self.ledger.accounts and self.ledger.last_forward is not None:
            self.ends = _begins(event.roots)
            event.copied = getattr(event.subject, "grad_fn", None) is None

    def before_optimizer_step(self, event: Event) -> None:
        account, last = self.ledger.account(event.subject), self.last
        if event.closure or last is None or account.backwards or last.number < account.number("step"):
            return
        if last.reached:
            for other in last.reached:
                if other is not account and not other.steps and self._nothing_new(account):
                    self._misses(account, other, last, event)
        elif self.ends is not None and self._nothing_new(account) and self._ran(account, last):
            self.found(
                117,
                last,
                loss=name_of(last.subject) or "loss",
                words=_COPIED if last.copied else _CUT,
                fact=f"its graph begins at a tensor of shape {self.ends}",
                related=((self.ledger.last_forward, "the forward that it should go back through"),
                         (event, "the step that finds none")),
            )

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        first = getattr(account.first, "grad", None)
        self.used[id(account)] = (0, 0) if first is None else (id(first), first._version)

    def _nothing_new(self, account: Account) -> bool:
        """Whether an optimizer's gradients are missing, or are those of its last step."""
        first = getattr(account.first, "grad", None)
        if first is not None:
            return self.used.get(id(account)) == (id(first), first._version)
        return all(p.grad is None for p in account.params)

    def _ran(self, account: Account, backward: Event) -> bool:
        """Whether a model that the optimizer trains ran for this backward."""
        forward = self.ledger.last_forward
        if forward is None or forward.subject is None or not account.number("step") < forward.number < backward.number:
            return False
        return any(id(p) in account.ids and p.requires_grad for p in forward.subject.parameters())

    def _misses(self, account: Account, other: Account, last: Event, event: Event) -> None:
        key = id(other), id(account)
        self.misses[key] = self.misses.get(key, 0) + 1
        self.wrong.update(key)
        if self.misses[key] >= _TWICE:
            name = name_of(event.subject) or type(event.subject).__name__
            self.found(
                136,
                event,
                call=f"{name}.step()",
                loss=name_of(last.subject) or "loss",
                optimizer=name,
                other=name_of(other.optimizer) or f"the other {type(other.optimizer).__name__}",
                fact=f"{self.misses[key]} times, and no step of the right one",
                related=((last, "the backward pass, whose gradients are another optimizer's"),),
            )


def misled(watch: Any, account: Account) -> bool:
    """Whether this optimizer steps for another one, or another one for it: then neither mistake is its own."""
    return any(id(account) in check.wrong for check in watch.checks if isinstance(check, Astray))


def _begins(roots: tuple) -> tuple[int, ...] | None:
    """The shape of the first leaf of a graph in which there are no parameters; None where there are, or may be."""
    starts, shape = [], None
    for root in roots:
        if not isinstance(root, torch.Tensor) or isinstance(root, nn.Parameter):
            return None
        if root.grad_fn is None:
            shape = shape or tuple(root.shape)
        starts.append(root.grad_fn)
    for count, node in enumerate(nodes(starts, nearest=False), 1):
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, nn.Parameter) or count > _NODES:
            return None
        if leaf is not None:
            shape = shape or tuple(leaf.shape)
    return shape


CHECKS = (Astray,)
