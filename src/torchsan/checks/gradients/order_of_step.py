"""102, 103, 130: zero_grad, backward and step of an optimizer in the wrong order, or one of them missing."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.gradients.gradients_elsewhere import misled
from torchsan.own import re, torch
from torchsan.program.callers import accelerated, accelerator_name
from torchsan.program.naming import name_of
from torchsan.program.shards import local
from torchsan.program.walks import parameters_of
from torchsan.report.printing import code_at
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_BY_ACCELERATOR = re.compile(r"[\w.]*accelerator\.backward\([\w.]+\)")
_IDLE = 2  # steps without any gradient, or backwards without any step, that are one too many


def _all_none(account: Account) -> bool:
    return all(p.grad is None for p in account.params)  # the first one tells, most often


def _all_zero(account: Account) -> bool:
    with torch.no_grad():
        return not any(bool((g.coalesce().values() if g.is_sparse else g).any()) for p in account.params
                       if (g := p.grad) is not None)


class OrderOfStep(Check):
    """Backward, step and zero_grad come in an order that trains nothing."""

    numbers = (102, 103, 130)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.idle: dict[int, int] = self.ledger.while_alive({})
        self.early: dict[int, int] = self.ledger.while_alive({})
        self.unstepped: dict[int, Event] = {}
        self.samples: dict[int, list[torch.Tensor]] = {}
        self.empty_first: dict[int, Event] = {}
        self.last_backward = 0
        self.last_batch = 0
        self.loader = 0  # id of the loader that gave the last batch
        self.fed: set[int] = set()  # those that gave batches to the backwards of optimizers that never stepped
        self.astray: Event | None = None  # the last backward that reached no optimizer

    def before_scaler_step(self, event: Event) -> None:
        # torch refuses a scaled step without gradients, so the optimizer's own hook would come too late.
        account = self.ledger.account(event.optimizer)
        if account.number("unscale") < account.number("backward"):
            self._judge(account, event)

    def before_optimizer_step(self, event: Event) -> None:
        if not event.closure:
            self._judge(self.ledger.account(event.subject), event)

    def on_backward(self, event: Event) -> None:
        forward = self.ledger.last_forward
        if not event.reached:
            self.astray = event
        for account in event.reached:
            self.idle.pop(id(account), None)
            if account.steps == 0:
                self.unstepped.setdefault(id(account), event)
                self.fed.add(self.loader)
            self._early_step(account, event, forward)

    def _early_step(self, account: Account, event: Event, forward: Event | None) -> None:
        """The step came between this backward and the forward that it belongs to, twice in a row."""
        step = account.last.get("step")
        before = self.last_backward
        self.last_backward = event.number
        if step is None or forward is None or not before < forward.number < step.number or step.closure:
            self.early.pop(id(account), None)
            return
        if id(forward.subject) and not self._owns(account, forward.subject):
            return
        self.early[id(account)] = self.early.get(id(account), 0) + 1
        if self.early[id(account)] >= _IDLE:
            self.found(
                130,
                step,
                optimizer=name_of(account.optimizer),
                loss=name_of(event.subject),
                related=((event, "the backward pass whose gradients it should have used"),),
            )

    @staticmethod
    def _owns(account: Account, module: Any) -> bool:
        return any(id(p) in account.ids for p in module.parameters())

    def on_loader_batch(self, event: Event) -> None:
        self.loader = id(event.subject)
        self.last_batch = event.number

    def _one_batch_late(self, account: Account, event: Event) -> None:
        """The first step found nothing, and every later one uses the gradients of the batch before: the step stands in
        front of the backward in the loop body."""
        first = self.empty_first.get(id(account))
        if first is not None:
            self.found(
                130,
                first,
                optimizer=name_of(account.optimizer),
                fact="its first call finds no gradients, each later one those of the batch before",
                related=((event, "the backward pass whose gradients came too late for it"),),
            )

    def _judge(self, account: Account, event: Event) -> None:
        if account.steps == 1 and account.backwards and self.last_batch > account.number("backward"):
            self._one_batch_late(account, account.last["backward"])
        zeroed, backward, step = account.last.get("zero_grad"), account.last.get("backward"), account.number("step")
        none = _all_none(account)
        cleared = account.backwards and zeroed is not None and backward is not None and zeroed.number > backward.number
        forward = self.ledger.last_forward
        if cleared and (none or _all_zero(account)):
            # With a forward in between, it is the step that stands too early: see 130.
            if forward is None or not backward.number < forward.number < event.number:
                self.found(
                    102,
                    zeroed,
                    call=_call(zeroed, account),
                    optimizer=name_of(account.optimizer),
                    loss=name_of(backward.subject),
                    related=((backward, "the backward pass that made them"), (event, "the step that finds none")),
                )
        elif none and not cleared and account.backwards and backward is not None and backward.number > step:
            self.found(
                102,
                event,
                optimizer=name_of(account.optimizer),
                loss=name_of(backward.subject),
                related=((backward, "the backward pass that made them"),),
                words=(
                    "the gradients of `{loss}.backward()` are set to None before `{optimizer}.step()` uses them",
                    "move that after `{optimizer}.step()`, or before `{loss}.backward()`",
                ),
            )
        elif none and not account.backwards:
            if account.steps == 0 and not account.had_state:
                self.empty_first[id(account)] = event
            self.idle[id(account)] = self.idle.get(id(account), 0) + 1
            if self.astray is not None and self.astray.number > step:
                return  # gradients there are, of parameters that no optimizer has: see 118
            if self.idle[id(account)] >= _IDLE and not account.backwards_in_all and not misled(self.watch, account):
                name = name_of(account.optimizer)
                self.found(
                    103,
                    event,
                    call=f"{name or 'optimizer'}.step()",
                    optimizer=name,
                    model=self._trained(account),
                    fact=f"{self.idle[id(account)]} steps, no gradient in any parameter",
                    words=_both_by(f"{accelerator_name()}.backward(loss)") if accelerated()[0] is not None else None,
                )

    def on_loader_end(self, event: Event) -> None:
        if id(event.subject) in self.fed or self.fed <= {0}:  # not that of an evaluation within an accumulation
            self._never_stepped()

    def finish(self) -> None:
        self._never_stepped()
        for account in self.ledger:
            if account.steps >= _IDLE and account.backwards and account.backwards_in_all == account.steps:
                self._one_batch_late(account, account.last["backward"])

    def _never_stepped(self) -> None:
        """Backward passes that filled an optimizer's gradients, over and over, and no step in the whole run."""
        for account in self.ledger:
            first = self.unstepped.get(id(account))
            if first is not None and account.steps == 0 and account.backwards_in_all >= _IDLE:
                if any(other.steps and not other.ids.isdisjoint(account.ids) for other in self.ledger):
                    continue  # another optimizer, or a wrapped copy of this one, does the stepping
                if not self._unchanged(account) or misled(self.watch, account):
                    continue
                call = _as_written(first)
                self.found(
                    103,
                    first,
                    call=call or f"{name_of(first.subject) or 'loss'}.backward()",
                    model=self._trained(account),
                    fact=f"{account.backwards_in_all} backward passes, no step of {type(account.optimizer).__name__}",
                    words=_both_by(call) if _BY_ACCELERATOR.fullmatch(call) else None,
                )

    def _trained(self, account: Account) -> str | None:
        """What the model is called that an optimizer would train."""
        for module in self.watch.modules():
            if any(id(p) in account.ids for p in parameters_of(module)):
                return name_of(module) or type(module).__name__
        return None

    def before_backward(self, event: Event) -> None:
        for account in self.ledger:
            if id(account) not in self.samples and account.steps == 0:
                living = {id(other) for other in self.ledger}  # of those that are gone nothing is judged
                self.samples = {key: kept for key, kept in self.samples.items() if key in living}
                self.unstepped = {key: kept for key, kept in self.unstepped.items() if key in living}
                self.samples[id(account)] = _sample(account)

    def _unchanged(self, account: Account) -> bool:
        """No update by hand either."""
        before = self.samples.get(id(account))
        return before is not None and all(torch.equal(a, b) for a, b in zip(before, _sample(account)))


def _as_written(event: Event) -> str:
    """A call of backward as it stands in its line; empty where another call leads to it."""
    text = code_at(event.where())
    return text if text.endswith(".backward()") or _BY_ACCELERATOR.fullmatch(text) else ""


def _both_by(backward: str) -> tuple[str, str]:
    """The page's words, with the call of backward that the program's Accelerator has."""
    return (
        "the loop calls `{call}` but not the other half of a training step, so `{model}` never learns",
        f"a training step needs both, in this order: `{backward}`, then `{{optimizer}}.step()`",
    )


def _sample(account: Account) -> list[torch.Tensor]:
    with torch.no_grad():
        return [local(p).detach().flatten()[:8].clone() for p in account.params[:8] if p.layout == torch.strided]


def _call(zeroed: Event, account: Account) -> str:
    name = name_of(zeroed.subject) or ("optimizer" if zeroed.subject is account.optimizer else "model")
    return f"{name}.zero_grad()"


CHECKS = (OrderOfStep,)
