"""How the ranks agree to do something together, and hear from each other who made a NaN.

Through the key-value store that the process group was made with, never by a collective: nobody is waited for longer than
the time-out says, and a rank that gives up writes its No where the others' Yes would stand. So either all go or none.
"""

from __future__ import annotations

import itertools
import json

from torchsan.own import time, torch

PATIENCE = 5.0  # seconds that a vote waits for ranks that have not answered
_GRACE = 0.5  # the same for a rank that has not begun to look for the origin
_LOOKING = 20.0  # and for one that has
_LOOK_EVERY = 0.01
_GO = "go"
_numbers = itertools.count()


class Agreement:
    """What the ranks of one watch say to each other. The ranks make their watches in the same order."""

    def __init__(self) -> None:
        self._number = next(_numbers)
        self.failed = False  # a vote came to No, or the store is gone: nobody is asked again

    def arrives(self) -> None:
        """This rank watches: without this word from all nobody waits for a vote."""
        try:
            store, rank, _ = _store()
            store.set(f"torchsan/{self._number}/here/{rank}", "")
        except Exception:  # no store: the vote will say so
            return

    def vote(self, step: int, content: str, reason: str = "") -> str:
        """Whether all ranks do it: "" for Yes, or why not. `content` must be the same on all; `reason`: this rank does not."""
        try:
            said = "it was tried before" if self.failed and not reason else reason
            answer = self._vote(self._key(step, "vote"), content, said)
        except Exception as error:  # the store is gone, or none that can compare
            answer = f"the ranks cannot agree ({type(error).__name__})"
        self.failed = self.failed or bool(answer)
        return answer

    def _vote(self, key: str, content: str, reason: str) -> str:
        store, rank, world = _store()
        decision, votes = f"{key}/decision", [f"{key}/{other}" for other in range(world)]
        store.set(votes[rank], json.dumps([reason and f"rank {rank}: {reason}", content]))
        end = time.monotonic() + PATIENCE
        while not store.check([decision]):
            late = [other for other in range(world) if not store.check([votes[other]])]
            given = [json.loads(store.get(votes[other])) for other in range(world) if other not in late]
            no = next((why for why, _ in given if why), "")
            if not no and len({what for _, what in given}) > 1:
                no = "the ranks are not at the same place"
            if not no and (absent := [other for other in late if not store.check([f"torchsan/{self._number}/here/{other}"])]):
                no = f"rank {absent[0]} is not watched"
            if not no and late and time.monotonic() > end:
                no = f"rank {late[0]} did not come to it within {PATIENCE:g} seconds (what it has of the gradients may be finite)"
            if no or not late:
                store.compare_set(decision, "", no or _GO)  # the first one's word counts
            else:
                time.sleep(_LOOK_EVERY)
        word = store.get(decision).decode()
        return "" if word == _GO else word

    def begins(self, step: int) -> None:
        """This rank looks for the origin."""
        self._say(step, "began", "")

    def found(self, step: int, what: str) -> None:
        """It is done: what it found, or ""."""
        self._say(step, "origin", what)

    def heard(self, step: int) -> str:
        """What another rank found: "rank 1: `log` makes NaN ...". Only ranks that are looking are waited for."""
        try:
            store, rank, world = _store()
            others = [other for other in range(world) if other != rank]
            began, start = {}, time.monotonic()
            while True:
                for other in others:
                    if store.check([self._key(step, f"origin/{other}")]):
                        if what := store.get(self._key(step, f"origin/{other}")).decode():
                            return f"rank {other} made it: {what}"
                        began[other] = False
                    elif store.check([self._key(step, f"began/{other}")]):
                        began[other] = True
                passed = time.monotonic() - start
                waits = _LOOKING if any(began.values()) else _GRACE if len(began) < len(others) else 0.0
                if passed >= waits:
                    return ""
                time.sleep(_LOOK_EVERY)
        except Exception:  # the store is gone
            return ""

    def _say(self, step: int, kind: str, what: str) -> None:
        try:
            store, rank, _ = _store()
            store.set(self._key(step, f"{kind}/{rank}"), what)
        except Exception:  # the same; the others do without
            return

    def _key(self, step: int, kind: str) -> str:
        return f"torchsan/{self._number}/{step}/{kind}"


def _store() -> tuple:
    from torch.distributed import distributed_c10d

    dist = torch.distributed
    return distributed_c10d._get_default_store(), dist.get_rank(), dist.get_world_size()
