"""802, 813: ranks that train on the same batches, or draw the same random numbers for their data."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

from torch.nn.parallel import DistributedDataParallel

from torchsan.check import Check
from torchsan.own import random, torch
from torchsan.program.layers import tensors
from torchsan.program.naming import name_of
from torchsan.ranks.bit_sums import Sums
from torchsan.ranks.message_board import Board, board_of
from torchsan.stream.events import Event

_LOOKS = 3  # forwards, and fetches with random draws, that are looked at
_LEAST = 8  # values below which equal inputs may be chance
_LAST_LOOK = 1.0  # seconds to wait at the end for what the others leave
_SAME_BATCH = (
    "{ranks} train on the same batches: each does the work of the other",
    "give each process its share: `sampler=torch.utils.data.DistributedSampler(dataset)` in place of `shuffle`",
)
_SAME_NUMBERS = (
    "`{loader}` draws the same random numbers on {ranks} while it makes a batch: what is random in the data is the same "
    "on all of them",
    "seed {generator} with the rank, such as `{seed}(seed + rank)`; the model's weights are alike in any case, since "
    "`DistributedDataParallel` sends those of the first rank",
)
_GENERATORS = {"numpy": ("NumPy", "numpy.random.seed"), "python": ("`random`", "random.seed"),
               "torch": ("torch", "torch.manual_seed")}


class Shared(Check):
    """Something that each rank leaves for the others a few times, and that must not be the same."""

    kind = ""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.mine: list[tuple[Any, Event] | None] = []  # what was left, and where; None once it is judged
        self.judged = 0
        self.failed = False

    def on_error(self, event: Event) -> None:
        self.failed = True

    def board(self) -> Board | None:
        """Where to leave it; None where nobody is to be compared with."""
        board = board_of(self.watch) if self.watch.me is not None else None
        return board if board is not None and board.is_ours else None

    def leave(self, value: Any, event: Event) -> None:
        """Leave one more; judge those that all have left."""
        board = self.board()
        if board is not None:
            self.mine.append((value, event))
            board.post(self.kind, len(self.mine), value)
            self.compare(board)

    def compare(self, board: Board) -> None:
        """Judge, in order, what all ranks have left."""
        while self.judged < len(self.mine):
            others = board.read(self.kind, self.judged + 1)
            if not others or not board.present().keys() <= others.keys():
                return
            value, event = self.mine[self.judged]  # type: ignore[misc]
            self.mine[self.judged] = None
            self.judged += 1
            self.judge({board.me.rank: value, **others}, event)

    def judge(self, sides: dict[int, Any], event: Event) -> None:
        """Say what is wrong with what the ranks have left, by rank."""

    def finish(self) -> None:
        board = self.board()
        if board is not None and self.judged < len(self.mine):
            board.await_all(self.kind, len(self.mine), 0.0 if self.failed else _LAST_LOOK)
            self.compare(board)


class SameBatch(Shared):
    """Ranks train on the same batches."""

    numbers = (802,)
    kind = "inputs"

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.forward: tuple[Event, Sums] | None = None
        self.pass_began: Event | None = None
        self.before: dict[int, Any] = {}
        self.same: set[tuple[int, int]] = set()  # pairs of ranks that had the same before

    def on_loader_iterate(self, event: Event) -> None:
        if self.watch.me is not None and len(self.mine) < _LOOKS:
            event.where()
            event.called = name_of(event.subject)
            self.pass_began = event

    def before_forward(self, event: Event) -> None:
        if self.watch.me is None or len(self.mine) >= _LOOKS or not event.grad or not event.training:
            return
        model = event.subject
        if self.forward is None and isinstance(model, DistributedDataParallel):
            if torch.distributed.get_world_size(model.process_group) == self.watch.me.world:
                inputs = [t for t in tensors((event.args, event.kwargs)) if t.numel() >= _LEAST]
                if inputs:
                    event.where()
                    self.forward = event, Sums(list(inputs))

    def on_backward(self, event: Event) -> None:
        if self.forward is not None:
            forward, sums = self.forward
            self.forward = None
            self.leave(sums.read(), self.pass_began or forward)

    def judge(self, sides: dict[int, Any], event: Event) -> None:
        ranks = sorted(sides)
        same = {(a, b) for a in ranks for b in ranks if a < b and sides[a] == sides[b]}
        # Twice in a row, and not of data that are always the same.
        again = same & self.same if sides != self.before else set()
        self.before, self.same = sides, same
        if again:
            who = sorted({rank for pair in again for rank in pair})
            self.found(
                802, event, loader=event.called, ranks=_ranks(who), words=_SAME_BATCH,
                fact=f"the inputs of {self.judged} forwards were the same, bit for bit" if self.judged > 1 else "",
            )


class SameRandomNumbers(Shared):
    """Ranks draw the same random numbers for their data."""

    numbers = (813,)
    kind = "draws"

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.pass_began: Event | None = None
        self.states: dict[str, str] | None = None
        self.drawn: list[dict[str, list[str]]] = []

    def on_loader_iterate(self, event: Event) -> None:
        if self.watch.me is not None and len(self.mine) < _LOOKS:
            event.where()
            event.called = name_of(event.subject)
            self.pass_began = event

    def before_loader_fetch(self, event: Event) -> None:
        self.states = None
        if len(self.mine) < _LOOKS and not self.drawn and self.board() is not None:
            self.states = _states()

    def on_loader_fetch(self, event: Event) -> None:
        if self.states is not None:
            now = _states()
            drawn = {key: [before, now[key]] for key, before in self.states.items() if now.get(key) != before}
            if drawn:
                self.drawn.append(drawn)

    def on_backward(self, event: Event) -> None:
        if self.drawn and self.pass_began is not None:  # an evaluation may well be the same everywhere
            self.leave(self.drawn.pop(), self.pass_began)

    def judge(self, sides: dict[int, Any], event: Event) -> None:
        for key, (name, seed) in _GENERATORS.items():
            by_state: dict[tuple, list[int]] = {}
            for rank, drawn in sides.items():
                if key in drawn:
                    by_state.setdefault(tuple(drawn[key]), []).append(rank)
            for ranks in by_state.values():
                if len(ranks) > 1:
                    self.found(
                        813, event, loader=event.called, ranks=_ranks(sorted(ranks)), generator=name, seed=seed,
                        words=_SAME_NUMBERS, fact=f"from the generator of {name}",
                    )
                    return


def _ranks(ranks: list[int]) -> str:
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


def _states() -> dict[str, str]:
    """Digests of the random states that a data set may draw from. Nothing is drawn for that."""
    found = {"python": repr(random.getstate()), "torch": bytes(torch.get_rng_state().tolist())}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found["numpy"] = repr([part if isinstance(part, (str, int, float)) else part.tobytes()
                               for part in numpy.random.get_state()])
    return {key: hashlib.sha1(text.encode() if isinstance(text, str) else text).hexdigest()
            for key, text in found.items()}


CHECKS = (SameBatch, SameRandomNumbers)
