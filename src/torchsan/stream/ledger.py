"""The ledger: for every optimizer, what happened to its gradients since its last step. Checks read it.

It hears events before the checks do, so that a check finds the state of the moment: `before_optimizer_step` sees the
backward passes since the previous step, `on_backward` sees which parameters this backward reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import nn
from torch.optim import Optimizer

from torchsan.own import torch, weakref
from torchsan.stream.events import Event

_MANY = 4096  # parameters of which some are as good as all: to list them takes longer than to clear their gradients


def innermost(optimizer: Optimizer) -> Optimizer:
    """The optimizer that makes the steps, where `optimizer` is a framework's that wraps it: Accelerate's, Lightning's."""
    while True:
        own = getattr(optimizer, "__dict__", {})
        inner = own.get("optimizer", own.get("_optimizer"))
        if not isinstance(inner, Optimizer):
            return optimizer
        optimizer = inner


class Account:
    """One optimizer's account.

    Attributes:
        params: its parameters, in the order of its groups.
        few: the same; of very many, every second, third ... of them.
        key: the optimizer's id.
        made: how often the list of parameters was made anew.
        steps: steps that were made or asked for (a GradScaler may skip one) since the watch started.
        last: the last event of each kind that concerned it: "backward" (one that changed its gradients), "zero_grad",
            "clip", "unscale", "step", "scheduler.step", "scale" (its last backward's loss was scaled by that event).
        missed: those of them that were counted and no more (see `resting_checks.py`).
        reached: whether the last backward changed any of its gradients.
        backwards: how many backward passes reached it since its last step, and in all.
        grads, versions: the gradients and their versions before a backward while it runs; after it, and after a clip
            or unscale, only where the loss was scaled. Otherwise empty: a gradient held is memory held.
    """

    def __init__(self, optimizer: Optimizer, gone: Callable[[int], None] | None = None):
        def let_go(reference: Any) -> None:  # checks may keep an account: the parameters are not to live for that
            self.params, self.few, self.ids, self.grads, self.versions = [], [], set(), [], []
            if gone is not None:
                gone(self.key)
                gone(id(self))

        self._optimizer = weakref.ref(optimizer, let_go)
        self.key = id(optimizer)
        self.params: list[torch.Tensor] = []
        self.few: list[torch.Tensor] = []
        self.ids: set[int] = set()
        self.made = 0
        self._groups: list[tuple[int, int]] = []
        self.steps = self.missed = 0
        self.last: dict[str, Event] = {}
        self.reached = False
        self.backwards = 0
        self.backwards_in_all = 0
        self.grads: list[Any] = []
        self.versions: list[int] = []
        self.had_state = bool(optimizer.state)
        self.refresh()

    @property
    def optimizer(self) -> Optimizer | None:
        return self._optimizer()

    @property
    def first(self) -> torch.Tensor | None:
        """The first parameter. Read once: the optimizer may die, and `params` empty, at any moment in any thread."""
        params = self.params
        return params[0] if params else None

    def refresh(self) -> None:
        """Look again at the optimizer's groups: parameters may have been added."""
        optimizer = self.optimizer
        if optimizer is None:
            return
        # How many there are, and the last one, tell of a parameter that came, went, or took another's place.
        groups = [(len(own), id(own[-1]) if own else 0) for own in [group["params"] for group in optimizer.param_groups]]
        if groups != self._groups:
            self._groups = groups
            self.params = [p for group in optimizer.param_groups for p in group["params"]]
            self.few = self.params[::max(1, len(self.params) // _MANY)]
            self.ids = {id(p) for p in self.params}
            self.made += 1
            self.grads, self.versions = [], []

    def number(self, kind: str) -> int:
        """When the last event of `kind` was, as its event number; 0 for never."""
        event = self.last.get(kind)
        return 0 if event is None else event.number

    def mark(self) -> None:
        """Remember every gradient and its version."""
        grads = self.grads = [p.grad for p in self.params]
        self.versions = [-1 if grad is None else grad._version for grad in grads]

    def changed(self) -> bool:
        """Whether any gradient is another one, or was written to, since `mark`. Most often the first one tells."""
        if len(self.grads) != len(self.params):  # parameters were added meanwhile
            return any(p.grad is not None for p in self.params)
        for p, old, version in zip(self.params, self.grads, self.versions):
            grad = p.grad
            if grad is not None and (grad is not old or grad._version != version):
                return True
        return False

    def unmark(self) -> None:
        """Remember the gradients where somebody will ask `changed_since`, and hold nothing where nobody will."""
        if "scale" in self.last:
            self.mark()
        else:
            self.grads, self.versions = [], []

    def changed_since(self) -> bool:
        """Whether a gradient was replaced or written to since the last backward, clip or unscale of a scaled loss."""
        return any(
            p.grad is not None and (p.grad is not grad or p.grad._version != version)
            for p, grad, version in zip(self.params, self.grads, self.versions)
        )

    def forget(self) -> None:
        """Hold no gradient that the program has let go: its memory is needed for the next forward."""
        if any([p.grad is not grad for p, grad in zip(self.params, self.grads)]):
            self.grads, self.versions = [], []


class Ledger:
    """The accounts of all optimizers that the watch has met."""

    def __init__(self, watch: Any):
        self.watch = watch
        self.accounts: dict[int, Account] = {}
        self._most = 0  # kept here: optimizers may be gone when somebody asks
        self._living: list[Account] = []
        self._some_gone = False
        self._models: dict[int, weakref.ref] = {}
        self._tables: list[Any] = []
        self._gone: deque[int] = deque()  # ids of what died, in any thread, at any moment
        self.scaled: tuple[weakref.ref, Event] | None = None
        self.at_missed_step: list[Callable[[Account], None]] = []  # for checks that must not miss what they look for
        self.last_forward: Event | None = None
        self._steps_before = 0
        self.is_blind = False  # steps are counted, and no gradient is looked at
        self.followed: Callable[[Account], bool] | None = None  # where two threads train: whose is the watch's
        self.met_any = False  # optimizers, be they gone by now
        self.backwards = 0  # that were heard
        self.ill = False  # a NaN was told of, and no step since was finite

    def start(self) -> None: ...

    def finish(self) -> None: ...

    def account(self, optimizer: Optimizer) -> Account:
        """The account of `optimizer`, opened where there is none."""
        account = self.accounts.get(id(optimizer))
        if account is None or account._optimizer() is not optimizer:
            self._take_out()
            account = self.accounts[id(optimizer)] = Account(optimizer, self._is_gone)
            self._living = [a for a in self.accounts.values() if a.optimizer is not None]
            self.met_any = True
            self.watch.look_for_ranks()
        return account

    def _is_gone(self, key: int) -> None:
        """An optimizer died; its account is closed when somebody next walks through them."""
        self._some_gone = True
        self._gone.append(key)

    def while_alive(self, table: Any) -> Any:
        """A check's own dictionary or set by the ids of accounts, optimizers or whole models: what it has of one that dies
        is taken out, before another thing can be met that has its id."""
        self._tables.append(table)
        return table

    def _meet(self, model: nn.Module) -> None:
        key = id(model)

        def gone(reference: Any) -> None:
            self._models.pop(key, None)
            self._gone.append(key)

        self._models[key] = weakref.ref(model, gone)

    def _take_out(self) -> None:
        while self._gone:
            key = self._gone.popleft()
            for table in self._tables:
                table.pop(key, None) if isinstance(table, dict) else table.discard(key)

    def __iter__(self) -> Iterator[Account]:
        """Accounts of living optimizers."""
        if self.is_blind:
            return iter(())
        if self._some_gone:
            self._some_gone = False
            self.accounts = {key: a for key, a in self.accounts.items() if a.optimizer is not None}
            self._living = list(self.accounts.values())
        if self.followed is not None:
            return iter([account for account in self._living if self.followed(account)])
        return iter(self._living)

    def of(self, params: Iterable[torch.Tensor]) -> list[Account]:
        """The accounts that hold any of `params`."""
        ids = {id(p) for p in params}
        return [account for account in self if not ids.isdisjoint(account.ids)]

    @property
    def step(self) -> int:
        """Steps so far: those of the optimizer that made most."""
        return self._most

    def scale_of(self, roots: tuple) -> Event | None:
        """The scaler.scale event that made the first of `roots`, if it was scaled."""
        if self.scaled is None or not roots or self.scaled[0]() is not roots[0]:
            return None
        return self.scaled[1]

    # What it hears.

    def on_optimizer_create(self, event: Event) -> None:
        self.account(event.subject)
        self.watch.discover()

    def before_forward(self, event: Event) -> None:
        if event.depth == 0 and id(event.subject) not in self._models:
            self._take_out()
            self._meet(event.subject)
        if event.depth == 0 and event.grad:
            self.last_forward = event
            event.where()
            for account in self:
                if account.grads:
                    account.forget()

    def before_backward(self, event: Event) -> None:
        self.watch.discover()
        event.scale = self.scale_of(event.roots)
        for account in self:
            account.mark()

    def on_backward(self, event: Event) -> None:
        self.backwards += 1
        event.where()
        event.reached = reached = []
        scale = event.scale
        for account in self:
            account.reached = account.changed()
            if account.reached:
                account.backwards += 1
                account.backwards_in_all += 1
                account.last["backward"] = event
                if scale is not None:
                    account.last["scale"] = scale
                else:
                    account.last.pop("scale", None)
                reached.append(account)
            account.unmark()

    def before_optimizer_zero_grad(self, event: Event) -> None:
        event.where()

    def on_optimizer_zero_grad(self, event: Event) -> None:
        for account in self.touched(event.subject):
            account.last["zero_grad"] = event
            if account.grads:
                account.forget()

    def touched(self, subject: Any) -> list[Account]:
        """The accounts whose gradients `subject` (an optimizer or a module) clears."""
        if isinstance(subject, Optimizer):
            return [self.account(subject)]
        return self.of(subject.parameters()) if isinstance(subject, nn.Module) else []

    def before_clip(self, event: Event) -> None:
        event.where()

    def on_clip(self, event: Event) -> None:
        for account in self.of(event.subject):
            account.last["clip"] = event
            account.unmark()

    def before_scaler_unscale(self, event: Event) -> None:
        event.where()

    def on_scaler_unscale(self, event: Event) -> None:
        account = self.account(event.optimizer)
        account.last["unscale"] = event
        account.unmark()

    def on_scaler_scale(self, event: Event) -> None:
        event.where()
        if isinstance(event.scaled, torch.Tensor):
            self.scaled = (weakref.ref(event.scaled), event)

    def before_scaler_step(self, event: Event) -> None:
        event.where()
        account = self.account(event.optimizer)
        account.last["scaler.step"] = event
        self._steps_before = account.steps

    def on_scaler_step(self, event: Event) -> None:
        account = self.account(event.optimizer)
        account.last.pop("scaler.step", None)
        if account.steps == self._steps_before:  # skipped: the loss scale was too large
            self._stepped(account, event)

    def on_scheduler_step(self, event: Event) -> None:
        event.where()
        if isinstance(event.optimizer, Optimizer):
            self.account(event.optimizer).last["scheduler.step"] = event

    def before_optimizer_step(self, event: Event) -> None:
        event.where()
        self.account(event.subject).refresh()

    def on_optimizer_step(self, event: Event) -> None:
        self._stepped(self.account(event.subject), event)

    # What it missed, while a small model's loop went on as ever.

    def missed_step(self, account: Account) -> None:
        """A step that is counted and no more."""
        account.steps = steps = account.steps + 1
        account.missed += 1
        if steps > self._most:
            self._most = steps
        if self.at_missed_step:
            for look in self.at_missed_step:
                look(account)

    def missed_backward(self) -> None:
        """A backward that nobody looked at: gradients that are there are new ones."""
        for account in self:
            if not account.backwards and any(p.grad is not None for p in account.params):
                account.backwards = 1

    def _stepped(self, account: Account, event: Event) -> None:
        account.steps += 1
        self._most = max(self._most, account.steps)
        account.backwards = 0
        account.last["step"] = event
