"""What is known of a thread's current step: forwards to run again, backward, losses, and what came up that is not finite."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchsan.nonfinite import replay
from torchsan.nonfinite.instrumented import Instrumented
from torchsan.nonfinite.sentinel import finite
from torchsan.own import threading, torch, weakref
from torchsan.stream.events import Event
from torchsan.stream.forward_start import Remembered
from torchsan.stream.ledger import Account


class Symptom(NamedTuple):
    """Something that is not finite, what a replay made of it, and the backward where it came up."""

    fact: str
    outcome: replay.Outcome
    backward: Event | None
    of_loss: bool = False
    mark: tuple[int, int] | None = None  # of the gradients
    in_graph: str = ""  # what the loss's graph told, before backward freed it

    def goes_on(self, mark: tuple[int, int] | None) -> bool:
        """Whether more was added to the same bad gradients."""
        return None not in (mark, self.mark) and mark[0] == self.mark[0] and mark[1] > self.mark[1]


class Deferred(NamedTuple):
    """A loss of a sharded model that is not finite: the ranks can look into it together once its backward is over."""

    event: Event
    value: float
    name: str | None
    in_graph: str


class State:
    """What is known of a thread's current step."""

    def __init__(self) -> None:
        self.forwards: list[Remembered] = []
        self.backward: Event | None = None
        self.losses: list[torch.Tensor] = []  # on devices
        self.deferred: Deferred | None = None
        self.together = False  # the ranks of a sharded model have just been through the same backward
        self.bad_loss = False
        self.scaled: weakref.ref | None = None  # what the scaler made of the loss
        self.is_scaled = False
        self.in_scaler: tuple[Any, bool] | None = None  # an optimizer, and whether it made its step
        self.in_closure = 0  # 1, and one more for each backward inside
        self.pending: dict[int, Symptom] = {}  # by optimizer: bad gradients that no step has used yet
        self.marks: dict[int, Any] = {}  # by optimizer: gradients that were finite
        self.tracer: Instrumented | None = None
        self.left_behind: list[Instrumented] = []  # under a mode of the program's
        self.draws: bool | None = None  # whether random numbers were drawn between a forward and its backward, once looked
        self.is_plain = False  # nothing of all this is there, but forwards and marks: quick looks are enough


class States(threading.local):
    """Each thread's own. To read what a thread has takes several times as long as to read an attribute: once a look."""

    def __init__(self) -> None:
        self.own = State()


def mark_of(account: Account) -> tuple[int, int] | None:
    """Tells whether gradients were replaced or written to: that of the first parameter does as it happens to all."""
    for p in account.params:
        grad = p.grad
        if grad is not None:
            return id(grad), grad._version
    return None


def bad_gradients(account: Account) -> str:
    grads = [p.grad for p in account.params if p.grad is not None]
    count = sum(not finite([grad]) for grad in grads)
    return f"the gradients of {count} of {len(grads)} parameters are not finite" if count else ""


