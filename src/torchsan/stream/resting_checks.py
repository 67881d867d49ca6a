"""Rest: on a tiny model, a loop that does the same thing over and over is listened to in part.

What checks do in a step takes some hundred µs, whatever the model; a step of a tiny model takes no longer than two or three
times that. So once so many steps in a row have made the same events, on the same objects, in the same modes, the checks
hear a few steps, miss some, hear a few again. Any event that is not the expected one is heard at once, and so is
everything after it. Large models never rest: there the looks cost nothing to speak of.

Checks with `always = True` hear every step, but for the events in `asleep_to`. To be told of an event costs several µs, so
such a check can have a quick look of its own: `calm_before_<event>(subject, info)` and `calm_on_<event>(subject or event,
None)`. Where it gives True nothing is told; else all goes on as if it had not been asked, so it must have changed nothing. Where
one look alone is to be taken, probes go a short way (`events.at_rest`), on which no event is made.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any

TINY = 1 << 16  # values in all parameters that are trained
_STEADY = 64  # equal steps before the first rest
# 67 together, then 259, then 515: checks that look at one step in 2, 4, 16 or 64 still get to look at any of them.
_AWAKE, _ASLEEP, _DEEP = 3, 64, 512
_LONGEST = 64  # events of a step; what has more is no tiny step
# Events whose subject is a value, and another one every time.
_VALUES = frozenset(("backward", "autograd.grad", "clip"))
# An event that is expected: its name; the id of its subject, 0 for any; whether there is anything to be done; of a forward
# its modes (training, grad); whether it is a step; the quick look to be taken before it and that after it, if there are any.
Plan = tuple[str, int, bool, "list[bool]", bool, "Callable[..., bool] | None", "Callable[..., bool] | None"]


class Rest:
    """Tells of each event whether it is to be heard. One for the process: it is shared by all running watches.

    A cycle is what happens from one step of an optimizer (that which stepped first) to its next one.
    """

    def __init__(self) -> None:
        self.possible = False
        self.watches: tuple[Any, ...] = ()
        self.reset((), {}.get)

    def reset(self, watches: tuple[Any, ...], listeners: Callable[[str], Any]) -> None:
        """Begin anew: a watch started or stopped, or a check was switched off. `listeners` gives who hears an event even
        so, by their quick looks before and after it; None for nobody."""
        self.watches = watches
        self._listeners = listeners
        self.possible = bool(watches) and all(watch.options.level == "default" for watch in watches)
        self.asleep = False
        self.plan: list[Plan] = []  # of a cycle, while asleep
        self.at = 0  # how far this one got
        self.thread = get_ident()
        self._anchor: Any = None
        self._cycle: list[tuple] = []  # the events of the last cycle
        self._now: list[tuple] = []  # those of this one, while awake
        self._same = 0  # equal cycles so far
        self._left = 0  # cycles until falling asleep, or waking
        self._long = _ASLEEP  # cycles that are slept through next; more where nothing happened in the last ones

    @property
    def rests(self) -> bool:
        """Whether this is a tiny model's loop that goes on as ever: then each look is a good part of a step's time."""
        return self.possible and self._same >= _STEADY

    def hears(self, name: str, subject: Any, info: dict[str, Any]) -> bool:
        """Whether this event is to be told; to be asked once for each."""
        if get_ident() != self.thread:
            self._give_up()  # several threads have no order to rely on
            return True
        key = _key(name, subject, info)
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

    def _cycle_ends(self) -> None:
        if self._now == self._cycle:
            self._same += 1
            self._left -= 1
            if self._same == _STEADY and not self._tiny():
                self._give_up()
            elif self._same >= _STEADY and self._left <= 0:
                self._fall_asleep()
        else:
            self._cycle, self._same = self._now, 0
        self._now = []

    def _fall_asleep(self) -> None:
        self.plan = []
        for name, who, *modes in self._cycle:
            listeners = self._listeners(name)
            steps = name == "optimizer.step"
            self.plan.append((name, who, listeners is not None or steps, modes, steps, *(listeners or (None, None))))
        self.asleep, self.at, self._left = True, 0, self._long
        self._long = max(_ASLEEP, min(4 * self._long, _DEEP))

    def missed_step(self, optimizer: Any) -> None:
        """While asleep, the expected step came."""
        for watch in self.watches:
            watch.ledger.missed_step(optimizer)
        if self.at == len(self.plan):
            self.at = 0
            self._left -= 1
            if self._left == 0:
                self.asleep, self._left = False, _AWAKE

    def wake(self) -> None:
        """Something new: awake until the loop is steady again."""
        if any(name == "backward" for name, *_ in self._cycle[:self.at]):
            for watch in self.watches:
                watch.ledger.missed_backward()
        self.asleep, self._same, self._now, self._left, self._long = False, 0, [], 0, _ASLEEP

    def _tiny(self) -> bool:
        accounts = [account for watch in self.watches for account in watch.ledger]
        return sum(p.numel() for account in accounts for p in account.params) <= TINY

    def _give_up(self) -> None:
        self.possible = self.asleep = False


def _key(name: str, subject: Any, info: dict[str, Any]) -> tuple:
    """What tells events of a cycle apart."""
    if name == "forward":
        return name, id(subject), info["training"], info["grad"]
    return name, 0 if name in _VALUES else id(subject)
