"""122: an optimizer, or a scheduler, is built anew over and over in one training, and forgets what it knew."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.naming import name_of
from torchsan.program.shards import local
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_OFTEN = 3  # objects of one line, one after the other, until it is said
_LOOK = 4  # parameters whose versions are compared, and of which a few values are kept
# Schedules that count their own steps. (ExponentialLR goes on from where the rate is.)
_COUNTING = frozenset(
    ("StepLR", "MultiStepLR", "LambdaLR", "OneCycleLR", "CosineAnnealingLR", "CyclicLR", "LinearLR", "PolynomialLR",
     "CosineAnnealingWarmRestarts")
)


class _Life:
    """What is known of one optimizer: where it was built and how, its steps, what it left the parameters as."""

    def __init__(self, event: Event, account: Account):
        optimizer = event.subject
        self.event, self.account = event, account
        self.ids = tuple(map(id, account.params))
        self.first = None if account.first is None else weakref.ref(account.first)
        self.how = type(optimizer), repr({k: v for k, v in optimizer.defaults.items() if type(v) in _PLAIN})
        self.count = 1
        self._heard, self._missed = 0, account.missed  # steps so far; those that nobody heard when it began
        self._missed_at_look = account.missed  # the same when it looked last
        self.memory = ""
        self.before: _Life | None = None  # the one that this one takes up from, while it matters
        self.loader: Any = None
        self.begun = 0  # passes over its loader, its own first one counted
        self.single = 0  # how many before it, in a row, made one step
        self.passes = 0  # how many before it, in a row, went once through the loader that it goes through
        self.left: list[tuple[int, torch.Tensor]] = []
        self.bumps: list[int] = []  # by how much a step raises the versions

    @property
    def steps(self) -> int:
        return self._heard + self.account.missed - self._missed

    @property
    def missed(self) -> int:
        """Steps since `left`."""
        return self.account.missed - self._missed_at_look

    def step(self) -> None:
        self._heard += 1

    def look(self, params: list[torch.Tensor]) -> None:
        """Remember the parameters as they are after a step."""
        before = [version for version, _ in self.left]
        with torch.no_grad():
            self.left = [(p._version, local(p).detach().flatten()[:8].clone()) for p in params[:_LOOK]]
        if before and not self.missed:
            self.bumps = [now - then for (now, _), then in zip(self.left, before)]
        self._missed_at_look = self.account.missed

    def left_alone(self, params: list[torch.Tensor]) -> bool:
        """Whether nothing but the optimizer's own steps has written to the parameters."""
        if not self.left or (self.missed and not self.bumps):
            return False
        if self.missed:
            steps = zip(params, self.left, self.bumps)
            return all(p._version == version + bump * self.missed for p, (version, _), bump in steps)
        return all(
            p._version == version and torch.equal(local(p).detach().flatten()[:8], values)
            for p, (version, values) in zip(params, self.left)
        )


_PLAIN = (bool, int, float, str, tuple, type(None))


class OptimizerRebuilt(Check):
    """The optimizer is built anew in the loop that it should live through.

    A new optimizer for a new training is right: another fold, client, task, or a model that was put back. So it is said
    only of several of the same line, over the same parameters with the same settings, which nothing else has written to
    since the last step, and where each made a single step, or went through the very same loader once.
    """

    numbers = (122,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.lives: dict[int, _Life] = {}  # by id of the account
        self.last: dict[Any, _Life] = {}  # by line
        self.loader: tuple[int, Any] = 0, None
        self.begun: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # passes over each loader
        self.schedules: dict[Any, tuple[int, Any, Any, Event]] = {}  # by line: how many, the last one, its optimizer

    def on_loader_iterate(self, event: Event) -> None:
        self.loader = event.number, weakref.ref(event.subject)
        self.begun[event.subject] = self.begun.get(event.subject, 0) + 1

    def on_optimizer_create(self, event: Event) -> None:
        place, account = event.where(), self.ledger.account(event.subject)
        life, before = _Life(event, account), self.last.get(place)
        if before is not None and before.ids == life.ids and before.how == life.how and before.steps and before.memory:
            alive = before.first is not None and before.first() is not None
            if alive and (before.count == 1 or before.left_alone(account.params)):
                life.count = before.count + 1
                life.single = before.single + 1 if before.steps == 1 else 0
                life.before = before
                before.before = None
        self.lives = {key: other for key, other in self.lives.items() if other is not before}
        self.last[place] = self.lives[id(account)] = life

    def before_optimizer_step(self, event: Event) -> None:
        life = self.lives.get(id(self.ledger.account(event.subject)))
        if life is None:
            return
        if not life.steps:
            began, loader = self.loader
            known = loader() if loader is not None and began > life.event.number else None
            if known is not None:
                life.loader, life.begun = loader, self.begun.get(known, 0)
            before = life.before
            if before is not None and not event.subject.state:  # else its memory was handed on
                same = known is not None and before.loader is not None and before.loader() is known
                if same and life.begun == before.begun + 1:
                    life.passes = before.passes + 1
                if life.single >= _OFTEN or life.passes >= _OFTEN - 1:
                    self._say(life, before, event)

    def _say(self, life: _Life, before: _Life, event: Event) -> None:
        how = "a single step" if life.single >= _OFTEN else f"{before.steps} steps with the same loader"
        self.found(
            122,
            life.event,
            call=type(event.subject).__name__,
            name=name_of(event.subject) or "optimizer",
            memory=before.memory,
            fact=f"{life.count} in a row over the same parameters, the one before made {how}",
            related=((event, "the first step of the new one, which knows nothing of the steps before"),),
            details={"built": life.count, "steps": before.steps},
        )

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        life = self.lives.get(id(account))
        if life is not None:
            life.step()
            if life.steps == 1:
                life.memory = _memory(event.subject)
            if life.count > 1:
                life.look(account.params)

    def on_scheduler_create(self, event: Event) -> None:
        kind = type(event.subject).__name__
        if kind not in _COUNTING or event.optimizer is None:
            return
        place = event.where()
        count, before, optimizer, _ = self.schedules.get(place, (0, None, None, None))
        known = before() if before is not None else None
        same = optimizer is not None and optimizer() is event.optimizer
        # Each new one was stepped once: a schedule that is run to its end, and again, is stepped more often.
        count = count + 1 if same and known is not None and known._step_count == 2 else 1
        self.schedules[place] = count, weakref.ref(event.subject), weakref.ref(event.optimizer), event

    def on_scheduler_step(self, event: Event) -> None:
        for count, schedule, _, made in self.schedules.values():
            if count >= _OFTEN and schedule() is event.subject:
                self.found(
                    122,
                    made,
                    call=type(event.subject).__name__,
                    name=name_of(event.subject) or "scheduler",
                    memory="count",
                    fact=f"{count} in a row for the same optimizer, each is stepped once and is at its beginning",
                    related=((event, "its only step"),),
                )


def _memory(optimizer: Any) -> str:
    """What an optimizer keeps from step to step, in words; nothing for plain SGD."""
    states = list(optimizer.state.values())[:_LOOK]
    keys = {key for state in states for key, value in state.items() if value is not None}
    keys -= {"step"}
    if not keys:
        return ""
    return "momentum" if keys == {"momentum_buffer"} else "running averages"


CHECKS = (OptimizerRebuilt,)
