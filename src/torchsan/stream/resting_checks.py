"""Rest: on a tiny model, a loop that does the same thing over and over is listened to in part.

What checks do in a step takes some 50 µs, whatever the model; a step of a tiny model takes no longer than two or three
times that. So once so many steps in a row have made the same events, on the same objects, in the same modes, the checks
hear a few steps, miss some, hear a few again. Any event that is not the expected one is heard at once, and so is
everything after it. Large models never rest: there the looks cost nothing to speak of.

Checks with `always = True` hear every step.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

TINY = 1 << 16  # values in all parameters that are trained
_STEADY = 64  # equal steps before the first rest
_AWAKE, _ASLEEP = 3, 64  # 67 together: checks that look at one step in 2, 4, 16 or 64 still get to look at any of them
_LONGEST = 64  # events of a step; what has more is no tiny step
# Events whose subject is a value, and another one every time.
_VALUES = frozenset(("backward", "autograd.grad", "clip"))


class Rest:
    """Tells of each event whether it is to be heard. One for the process: it is shared by all running watches.

    A cycle is what happens from one step of an optimizer (that which stepped first) to its next one.
    """

    def __init__(self) -> None:
        self.possible = False
        self.watches: tuple[Any, ...] = ()
        self.reset(())

    def reset(self, watches: tuple[Any, ...]) -> None:
        """Begin anew: a watch started or stopped, or a check was switched off."""
        self.watches = watches
        self.possible = bool(watches) and all(watch.options.level == "default" for watch in watches)
        self.asleep = False
        self._thread = get_ident()
        self._anchor: Any = None
        self._cycle: list[tuple] = []  # the events of the last cycle
        self._now: list[tuple] = []  # those of this one, while awake
        self._at = 0  # how far this one got, while asleep
        self._same = 0  # equal cycles so far
        self._left = 0  # cycles until falling asleep, or waking

    @property
    def rests(self) -> bool:
        """Whether this is a tiny model's loop that goes on as ever: then each look is a good part of a step's time."""
        return self.possible and self._same >= _STEADY

    def hears(self, name: str, subject: Any, info: dict[str, Any]) -> bool:
        """Whether this event is to be told; to be asked once for each."""
        if get_ident() != self._thread:
            self._give_up()  # several threads have no order to rely on
            return True
        who = 0 if name in _VALUES else subject if type(subject) is str else id(subject)
        key = (name, who, info["training"], info["grad"]) if name == "forward" else (name, who)
        if self.asleep:
            return self._expected(key, name, subject)
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
                self.asleep, self._at, self._left = True, 0, _ASLEEP
        else:
            self._cycle, self._same = self._now, 0
        self._now = []

    def _expected(self, key: tuple, name: str, subject: Any) -> bool:
        if key != self._cycle[self._at]:
            self._surprised()
            self._now.append(key)
            return True
        self._at += 1
        if name == "optimizer.step":
            for watch in self.watches:
                watch.ledger.missed_step(subject)
            if self._at == len(self._cycle):
                self._at = 0
                self._left -= 1
                if self._left == 0:
                    self.asleep, self._left = False, _AWAKE
        return False

    def _surprised(self) -> None:
        """Something new: awake until the loop is steady again."""
        if any(name == "backward" for name, *_ in self._cycle[:self._at]):
            for watch in self.watches:
                watch.ledger.missed_backward()
        self.asleep, self._same, self._now, self._left = False, 0, [], 0

    def _tiny(self) -> bool:
        accounts = [account for watch in self.watches for account in watch.ledger]
        return sum(p.numel() for account in accounts for p in account.params) <= TINY

    def _give_up(self) -> None:
        self.possible = self.asleep = False
