"""Rest: on a small model, a loop that does the same thing over and over is listened to in part.

What checks do in a step takes some hundred µs, whatever the model; a step of a tiny model takes no longer than two or three
times that. So once so many steps in a row have made the same events, on the same objects, in the same modes, the checks
hear a few steps, miss some, hear a few again. Any event that is not the expected one is heard at once, and so is
everything after it. Large models never rest: there the looks cost nothing to speak of.

A model that is small but not tiny rests lightly: the steps that the recorder measures, one in 16, are heard by all. A batch
of another shape is another event: the last one of a pass, with what it alone brings out, is heard. So what changes without
another event (a rate, a parameter that is frozen, memory that grows) is heard at most 15 steps later; what is there in the
values of one single batch may be missed. Values that are not finite are looked for in every step.

Checks with `always = True` hear every step, but for the events in `asleep_to`. To be told of an event costs several µs, so
such a check can have quick looks of its own, made when the others fall asleep: `quick_before_<event>(plan)` and
`quick_on_<event>(plan)` give functions that the probe calls instead of telling anybody, the first with the event's subject
(and, of a forward, its arguments), the second with nothing. Where it gives True nothing is told; else, and where it fails, all
goes on as if it had not been asked, so it must have changed nothing. On this short way it counts how many of Python's
instructions are run: between two pieces of torch's work each of them costs some 30 ns. So what can be known before is bound
when the look is made.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

from torchsan.own import torch
from torchsan.program.layers import tensors
from torchsan.stream.modes import aside

# Values in all parameters that are trained.
TINY = 1 << 16
SMALL = 1 << 22
_STEADY = 64  # equal steps before the first rest
# 67 together, for a tiny model then 259, then 515: checks that look at one step in 2, 4, 16 or 64 still get to look at any
# of them.
_AWAKE, _ASLEEP, _DEEP = 3, 64, 512
_LONGEST = 64  # events of a step; what has more is no tiny step
# Events whose subject is a value, and another one every time.
_VALUES = frozenset(("backward", "autograd.grad", "clip"))


def _never_calm(*_: Any) -> bool:
    return False


class Plan:
    """An event that is expected in a cycle.

    Attributes:
        who: the id of its subject; 0 for any.
        matters: whether there is anything to be done.
        passes: of an event that does not matter, what a probe asks in one comparison: its name and `who`. None where it is to
            ask more.
        shapes: those of all tensors given, where they are to be the same.
        training, grad, depth: of a forward, the modes it runs under, and how many hooked modules it is inside of.
        calls: the probe's list of these.
        ends_unheard: whether no hook tells of its end, for the time being.
        accounts: of a step, its account in each ledger.
        ends: whether it is the last one of the cycle.
        look, after: the quick looks before and after it; never calm where there are none.
        then: what is expected next; the first again after the last.
    """

    __slots__ = (
        "name", "who", "place", "matters", "passes", "training", "grad", "depth", "shapes", "calls", "ends_unheard", "accounts",
        "ends", "look", "after", "then",
    )

    def __init__(self, place: int, name: str, who: int, modes: tuple | None, shapes: tuple | None, watches: tuple[Any, ...]):
        self.place, self.name, self.who = place, name, who
        self.training, self.grad, self.depth = modes or (None, None, 0)
        self.shapes = shapes
        self.calls: list | None = None
        self.ends_unheard = False
        self.accounts = None
        if name == "optimizer.step":
            self.accounts = [(watch.ledger, watch.ledger.accounts[who]) for watch in watches if who in watch.ledger.accounts]
        self.look: Callable[..., bool] = _never_calm
        self.after: Callable[[], bool] = _never_calm
        self.then: Plan = self

    def listened(self, looks: tuple | None) -> None:
        """Who hears it even so: their quick looks, if they have some; None for nobody."""
        self.matters = looks is not None or self.accounts is not None
        self.passes = None if self.matters or self.shapes is not None else (self.name, self.who)
        self.look, self.after = looks or (_never_calm, _never_calm)

    def fits(self, info: dict[str, Any]) -> bool:
        """Whether an event of this name and subject is as it is expected."""
        if self.grad is not None and (info["training"] is not self.training or info["grad"] is not self.grad):
            return False
        return self.shapes is None or _shapes(self.name, info) == self.shapes


class Rest:
    """Tells of each event whether it is to be heard. One for the process: it is shared by all running watches.

    A cycle is what happens from one step of an optimizer (that which stepped first) to its next one.
    """

    def __init__(self) -> None:
        self.possible = False
        self.watches: tuple[Any, ...] = ()
        self.now: Plan | None = None  # what is expected, while asleep
        # For probes that have less in place meanwhile: they are told before the first event is missed, and heard again.
        self.falls_asleep: Callable[[Plan], Any] = _never_calm
        self.rises: Callable[[], Any] = _never_calm
        self.reset((), lambda plan: None)

    def reset(self, watches: tuple[Any, ...], listeners: Callable[[Plan], tuple | None]) -> None:
        """Begin anew: a watch started or stopped, or a check was switched off. `listeners` gives who hears an event even
        so, by their quick looks before and after it; None for nobody."""
        self.watches = watches
        self._listeners = listeners
        self.possible = bool(watches) and all(watch.options.level == "default" for watch in watches)
        self._rise()
        self.is_tiny = False
        self._first: Plan | None = None  # what comes first in a cycle
        self.thread = get_ident()
        self._anchor: Any = None
        self._cycle: list[tuple] = []  # the events of the last cycle
        self._now: list[tuple] = []  # those of this one, while awake
        self._same = 0  # equal cycles so far
        self._left = 0  # cycles until falling asleep, or waking
        self._long = _ASLEEP  # cycles that are slept through next; more where nothing happened in the last ones
        self._count = 0  # cycles so far
        self._ends = 0  # the last of the `_long` cycles
        self._wanted = 0  # a cycle among them that is to be heard

    @property
    def asleep(self) -> bool:
        """Whether steps are not heard now."""
        return self.now is not None

    @property
    def at(self) -> int:
        """How far a cycle got that is not heard."""
        return 0 if self.now is None else self.now.place

    @property
    def looks_are_dear(self) -> bool:
        """Whether this is a tiny model's loop that goes on as ever: then each look is a good part of a step's time."""
        return self.is_tiny and self.possible and self._same >= _STEADY

    @property
    def hears_few(self) -> bool:
        """Whether a small model rests that is not tiny: who looks at one step in so many looks at each that is heard."""
        return self.possible and self._same >= _STEADY and not self.is_tiny

    def hears(self, name: str, subject: Any, info: dict[str, Any]) -> bool:
        """Whether this event is to be told; to be asked once for each."""
        if get_ident() != self.thread:
            self._give_up()  # several threads have no order to rely on
            return True
        key = _key(name, subject, info, not self.is_tiny)
        if self.asleep:
            self.wake()
            self._now.append(key)
            return True
        who = key[1]
        self._now.append(key)
        if name == "optimizer.step":
            if self._anchor is None:
                self._anchor = who
            if who == self._anchor:
                self._cycle_ends()
        elif len(self._now) > _LONGEST:
            self._give_up()
        return True

    def hear_again(self, steps: int) -> None:
        """A check that is told of a step wants to hear the one so many steps later, too: to be asked at every step that is
        told, for the first wish alone is kept. Of a tiny model it has to wait."""
        wanted = self._count + steps
        if wanted < self._wanted or self._wanted <= self._count:
            self._wanted = wanted
        if self.asleep:  # since this step
            self._sleep()

    def _cycle_ends(self) -> None:
        self._count += 1
        if self._count == 2:  # all that steps is known by now
            self._is_small()
            if self.is_tiny:
                self._cycle, self._now = ([(*key[:3], None) for key in keys] for keys in (self._cycle, self._now))
        if self._now == self._cycle:
            self._same += 1
            self._left -= 1
            was_tiny = self.is_tiny
            if self._same == _STEADY and not self._is_small():
                self._give_up()
            elif self.is_tiny is not was_tiny:
                self._same, self._cycle = 0, []  # shapes matter to one, and to the other they do not
            elif self._same >= _STEADY and self._left <= 0:
                self._fall_asleep()
        else:
            self._cycle, self._same = self._now, 0
        self._now = []

    def _fall_asleep(self) -> None:
        plan = [Plan(at, *key, self.watches) for at, key in enumerate(self._cycle)]
        for one, then in zip(plan, (*plan[1:], plan[0])):
            one.then, one.ends = then, not then.place
            one.listened(self._listeners(one))
        self._first = plan[0]
        if self._count >= self._ends:
            self._ends = self._count + self._long
            if self.is_tiny:
                self._long = max(_ASLEEP, min(4 * self._long, _DEEP))
        self._sleep()

    def _sleep(self) -> None:
        until = self._ends
        if self._count < self._wanted and not self.is_tiny:
            until = min(until, self._wanted - 1)
        self._left = until - self._count
        if self._left > 0:
            if self.now is None:
                self.falls_asleep(self._first)
            self.now = self._first
        else:
            self._rise()

    def _rise(self) -> None:
        if self.now is not None:
            self.now = None
            self.rises()

    def missed_step(self, plan: Plan) -> None:
        """While asleep, the expected step came."""
        for ledger, account in plan.accounts or ():
            ledger.missed_step(account)
        if plan.ends:
            self._count += 1
            self._left = left = self._left - 1
            if not left:
                self._rise()
                self._left = 1 if self._count < self._ends else _AWAKE

    def wake(self) -> None:
        """Something new: awake until the loop is steady again."""
        if any(name == "backward" for name, *_ in self._cycle[:self.at]):
            for watch in self.watches:
                watch.ledger.missed_backward()
        self._rise()
        self._same, self._now, self._left, self._long, self._ends = 0, [], 0, _ASLEEP, 0

    def _is_small(self) -> bool:
        accounts = [account for watch in self.watches for account in watch.ledger]
        with aside():
            values = sum(p.numel() for account in accounts for p in account.params)
        self.is_tiny = values <= TINY
        # Of several processes each would rest in its own rhythm, and they have steps to compare.
        return self.is_tiny or (values <= SMALL and not _several_processes())

    def _give_up(self) -> None:
        self.possible = False
        self._rise()


def _several_processes() -> bool:
    dist = torch.distributed
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _key(name: str, subject: Any, info: dict[str, Any], with_shapes: bool) -> tuple:
    """What tells events of a cycle apart: name, subject, modes, shapes."""
    modes = (info["training"], info["grad"], info["depth"]) if name == "forward" else None
    return name, 0 if name in _VALUES else id(subject), modes, _shapes(name, info) if with_shapes else None


def _shapes(name: str, info: dict[str, Any]) -> tuple | None:
    """The shapes of what a forward or a loss is given; None for other events."""
    if name == "forward":
        return shapes_of((info["args"], info["kwargs"]))
    return shapes_of((info["input"], info["target"])) if name == "loss" else None


def shapes_of(given: Any) -> tuple:
    """The shapes of the tensors in what is given; the program's own modes do not see that they are asked for."""
    try:
        with aside():
            return tuple([value.shape for value in tensors(given)])
    except Exception:  # of a class of the program's own
        return (object(),)  # like no other
