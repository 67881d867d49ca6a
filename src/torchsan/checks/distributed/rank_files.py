"""805: several ranks write the same file."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import os
from torchsan.ranks.message_board import Board, board_of
from torchsan.stream.events import Event

_KEPT = 16  # files that are remembered
_LAST_LOOK = 1.0  # seconds to wait at the end for what the others leave
_WORDS = (
    "{ranks} write `{path}` at the same step: the file may be broken afterwards",
    "save under `if torch.distributed.get_rank() == 0:`, or give each process a file of its own",
)


class SavedByAll(Check):
    """Several ranks write the same file."""

    numbers = (805,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.saved: dict[str, tuple[int, Event]] = {}  # by path: after how many steps, and where
        self.failed = False

    def on_save(self, event: Event) -> None:
        board = self._board()
        if board is None or event.subject.startswith(os.devnull):
            return
        event.where()
        path = event.subject
        self.saved.pop(path, None)
        self.saved[path] = self.ledger.step, event
        while len(self.saved) > _KEPT:
            self.saved.pop(next(iter(self.saved)))
        board.post("saved", 0, {path: step for path, (step, _) in self.saved.items()})
        self._compare(board)

    def on_error(self, event: Event) -> None:
        self.failed = True

    def finish(self) -> None:
        board = self._board() if self.saved else None
        if board is not None:
            # A rank that saves nothing leaves nothing: there is no waiting for all.
            board.post("finished", 0, True)
            board.await_all("finished", 0, 0.0 if self.failed else _LAST_LOOK / 5)
            self._compare(board)

    def _board(self) -> Board | None:
        self.watch.look_for_ranks()
        board = board_of(self.watch)
        return board if board is not None and board.is_ours else None

    def _compare(self, board: Board) -> None:
        others = board.read("saved", 0)
        for path, (step, event) in self.saved.items():
            ranks = sorted([board.me.rank, *(rank for rank, saved in others.items() if saved.get(path) == step)])
            if len(ranks) > 1:
                who = f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
                self.found(805, event, ranks=who, path=os.path.basename(path), words=_WORDS, details={"path": path})


CHECKS = (SavedByAll,)
