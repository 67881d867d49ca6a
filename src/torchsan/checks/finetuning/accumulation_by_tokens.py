"""007: micro-batches of a step with unequal numbers of counted targets, and a mean each.

What is compared is what goes back with the loss that the function gave: where it is the same share of it in each
micro-batch, nobody weighed it by its tokens. All numbers are read when they are there.
"""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

_STEPS = 2  # that must show it
_LOOKS = 96  # backwards whose numbers are asked for
_UNEQUAL = 1.25  # the most tokens of a micro-batch, against the least
_SAME = 1e-3  # how far the shares may differ that are one
_ARGUMENTS = ("input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction")


class _Step:
    """The micro-batches of an optimizer's step: counted targets, targets, and which share of the mean went back."""

    def __init__(self) -> None:
        self.told: list[tuple[float, float, float]] = []
        self.wanted: int | None = None  # how many there are, once the step was made
        self.is_ours = True  # each backward was of one mean over targets
        self.backward: Where | None = None
        self.name = "loss"
        self.step: Where | None = None
        self.number = 0


class AccumulationByTokens(Check):
    """Means over unequal numbers of tokens are averaged."""

    numbers = (7,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.open: dict[int, _Step] = {}
        self.seen: dict[Where | None, int] = {}
        self.left = _LOOKS
        self.mean: tuple[torch.Tensor, torch.Tensor, int] | None = None  # the loss, its counted targets, all targets
        self.losses = 0  # means since the last backward
        self.numbers_of: tuple[torch.Tensor, int] | None = None  # of the backward that runs: tokens, mean, root; and all targets

    def on_loss(self, event: Event) -> None:
        if not self.left or event.subject not in ("cross_entropy", "nll_loss") or event.error is not None:
            return
        given, target, result = event.input, event.target, event.result
        if type(target) is not torch.Tensor or target.dtype is not torch.int64 or target.dim() > 2 or target.numel() < 2:
            return
        if type(result) is not torch.Tensor or not result.requires_grad or result.numel() != 1 or given.dim() != target.dim() + 1:
            return
        named = {**dict(zip(_ARGUMENTS, event.args)), **event.kwargs}
        ignored = named.get("ignore_index", -100)
        if named.get("reduction", "mean") != "mean" or named.get("weight") is not None or type(ignored) is not int:
            return
        self.losses += 1
        with torch.no_grad():
            self.mean = result.detach(), (target != ignored).sum(), target.numel()  # the loss itself may be gone by its backward

    def before_backward(self, event: Event) -> None:
        self.numbers_of = None
        if self.left and self.mean is not None and self.losses == 1:
            root, mean = event.subject, self.mean[0]
            if type(root) is torch.Tensor and root.numel() == 1 and root.device == mean.device:
                with torch.no_grad():
                    self.numbers_of = torch.stack((self.mean[1].float(), mean.float(), root.detach().float())), self.mean[2]
                self.left -= 1
        self.mean, self.losses = None, 0

    def on_backward(self, event: Event) -> None:
        numbers, self.numbers_of = self.numbers_of, None
        for account in event.reached:
            if account.backwards == 1 or id(account) not in self.open:
                self.open[id(account)] = _Step()
            step = self.open[id(account)]
            if numbers is None:
                step.is_ours = False
                continue
            step.backward = event.where()
            if account.backwards > 1 and step.name == "loss":
                step.name = name_of(event.subject) or "loss"
            asked, targets = numbers
            self.watch.late.ask(self, asked, lambda told, step=step, targets=targets: self._told(step, told, targets))

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        step = self.open.pop(id(account), None)
        if account.backwards == 1:
            self.left = max(0, self.left - _LOOKS // 8)  # nothing is accumulated: it is not looked for long
        if step is None or not step.is_ours or account.backwards < 2 or step.backward is None:
            return
        step.wanted, step.step, step.number = account.backwards, event.where(), self.ledger.step
        self._judge(step)

    def _told(self, step: _Step, told: list[float], targets: int) -> None:
        count, mean, root = told
        step.told.append((count, float(targets), root / mean if mean else float("nan")))
        self._judge(step)

    def _judge(self, step: _Step) -> None:
        if step.wanted is None or len(step.told) != step.wanted:
            return
        counts = [count for count, _, _ in step.told]
        shares = [share for _, _, share in step.told]
        left_out = any(count < targets for count, targets, _ in step.told)
        if not left_out or min(counts) <= 0 or max(counts) < _UNEQUAL * min(counts):
            return
        if not max(shares) - min(shares) <= _SAME * abs(shares[0]):  # nor where one is not finite
            return
        self.seen[step.backward] = self.seen.get(step.backward, 0) + 1
        if self.seen[step.backward] == _STEPS:
            shown = ", ".join(f"{count:.0f}" for count in counts[:8]) + (" …" if len(counts) > 8 else "")
            self.found(
                7, step.backward, call=f"{step.name}.backward()", every=step.wanted, loss=step.name, step=step.number,
                fact=f"the batches of a step have {shown} tokens that count", related=((step.step, "the step"),),
                details={"tokens": [int(count) for count in counts[:32]]},
            )


CHECKS = (AccumulationByTokens,)
