"""806, 822, 823: the ranks of a group are not at the same collective. 822 where one goes on without a backward that others
make, 823 where it is what a logger averages.

Each rank leaves on the board which collective it comes to, before it calls it (`ranks/message_board.py`), and sees whether its
neighbours are at the same one: the later of two that are not says so before it calls its own, and hangs. All ranks are
compared when one of them failed, at the end, and where a rank has come to no collective for a while: a thread of its
own looks then, for the program may be inside of one, and stay there until the process group's time-out.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, NamedTuple

from torchlint.findings import Location
from torchsan.check import Check
from torchsan.own import linecache, re, threading
from torchsan.program.where import here
from torchsan.ranks.message_board import Board, Step, board_of
from torchsan.report.deliver import SanError
from torchsan.stream.events import Event

STALL = 5.0  # seconds without any collective after which the ranks are compared
_EVERY = 128  # collectives after which they are compared in any case: a trail keeps twice as many
_LAST_LOOK = 1.0  # seconds to wait for what the others leave, after an error
_MEND = (
    "call it in every process, in the same order, and keep under a condition on the rank only what one process is to do"
)
_NO_SKIP = (
    "let all processes leave the batch out, or none: decide it by a number that all have (`all_reduce` of the flag), or go backward "
    "with a loss of 0 (`loss * 0`)"
)
_NO_AVERAGE = (
    "call it in every process; or log what one process has without an average: `sync_dist=False`, and `rank_zero_only=True` where "
    "only the first one logs"
)
_LOGS = re.compile(r"\.log(?:_dict)?\(")
_NAMES = {
    "forward": "the forward of `DistributedDataParallel`, which sends its buffers",
    "backward": "the backward of `DistributedDataParallel`, which sends the gradients",
}


class _Line(NamedTuple):
    filename: str
    row: int

    def location(self) -> Location:
        return Location(self.filename, self.row)


class Desync(Check):
    """The processes are not at the same collective."""

    numbers = (806, 822, 823)
    always = True

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.board: Board | None = None
        self.failed = False
        self.said = False
        self._main = threading.get_ident()
        self._end = threading.Event()
        self._monitor: threading.Thread | None = None

    def before_collective(self, event: Event) -> None:
        board = self._open()
        if board is None or not board.is_ours:
            return
        where = event.where() or event.place
        filename, row = (where.code.co_filename, where.line) if where else ("<unknown>", 1)
        board.comes_to(event.group, event.subject, event.what, filename, row)
        if not self.said and (not board.is_agreed() or (board.has_subgroups and board.written % _EVERY == 0)):
            self._compare()

    def on_collective(self, event: Event) -> None:
        if isinstance(event.error, Exception):
            self._fails()

    def on_error(self, event: Event) -> None:
        self._fails()

    def finish(self) -> None:
        self._end.set()
        if self.board is None or not self.board.is_ours:
            return
        if self._monitor is not None:
            self._monitor.join(_LAST_LOOK)
        self.board.post("over", 0, self.failed)
        if self.failed:
            self.board.await_all("over", 0, _LAST_LOOK)  # it may be coming to its end, which would say why
        self._compare()

    def _open(self) -> Board | None:
        if self.board is None:
            self.watch.look_for_ranks()
            self.board = board_of(self.watch)
            if self.board is not None:
                self._main = threading.get_ident()
                self._monitor = threading.Thread(target=self._watch_progress, name="torchsan-ranks", daemon=True)
                self._monitor.start()
        return self.board

    def _fails(self) -> None:
        """Something was raised here. Another rank may have died of it: what it left is there all the same."""
        if self.failed or self._open() is None:
            return
        self.failed = True
        self._end.wait(_LAST_LOOK / 5)  # the others write before they call
        self._compare()

    def _watch_progress(self) -> None:
        seen, looks = -1, 0
        while not self._end.wait(STALL / 2):
            board = self.board
            if board is None or not board.is_ours or self.said:
                return
            if board.written != seen:
                seen, looks = board.written, 0
                continue
            looks += 1
            if looks < 2 or looks & (looks - 1):
                continue  # twice as rarely each time: a pause between two epochs may be long
            try:
                where = here(sys._current_frames().get(self._main))
                if where is not None:
                    board.post("stands", 0, (seen, where.code.co_filename, where.line))
                self._compare(stalled=True)
            except SanError:
                return  # it is with the findings; nobody could catch it here
            except Exception as error:
                self.watch.switch_off(self, error)
                return

    def _compare(self, stalled: bool = False) -> None:
        board = self.board
        if board is None or self.said:
            return
        trails = board.trails()
        apart = first_difference(trails)
        if apart is not None:
            self._say(apart, trails)
        elif stalled or self.failed:
            self._look_for_the_gone(board, trails)
        if self.said:
            self._speak(board)

    def _say(self, apart: dict[int, Step], trails: dict[int, list[Step]]) -> None:
        skipped = _skipped(apart)
        if skipped is not None and self.watch.wants(822):
            self._say_skipped(apart, skipped)
            return
        first = _odd_one(apart, trails)
        parts = [f"rank {rank} is at {_named(step, apart)}" for rank, step in sorted(apart.items())]
        self._found(
            apart[first],
            f"the processes do not come to the same collective: {', '.join(parts)}",
            [(step, f"rank {rank} is here") for rank, step in sorted(apart.items()) if rank != first],
            apart,
        )

    def _say_skipped(self, apart: dict[int, Step], skipped: int) -> None:
        others = [rank for rank in sorted(apart) if rank != skipped]
        waits = next(rank for rank in others if apart[rank].call == "backward")
        text = f"rank {skipped} left out a backward that rank {waits} makes, and is already at {_named(apart[skipped], apart)}"
        if apart[skipped].call == "backward":
            text = f"rank {skipped} left out a backward that rank {waits} makes: gradients of different batches are averaged"
        self._found(
            apart[skipped], text, [(apart[rank], f"rank {rank} is here, in the backward of its batch") for rank in others[:3]],
            apart, 822, _NO_SKIP,
        )

    def _look_for_the_gone(self, board: Board, trails: dict[int, list[Step]]) -> None:
        """This rank waits for one that came to its end without an error, or that stands still somewhere else."""
        mine = max(trails[board.me.rank], key=lambda step: step.number, default=None)
        if mine is None:
            return
        over = board.read("over", 0)
        for rank, steps in sorted(trails.items()):
            count = max((step.number for step in steps if step.group == mine.group), default=-1)
            if steps and count < mine.number and over.get(rank) is False:
                me, at = board.me.rank, {board.me.rank: mine}
                text = f"rank {me} waits in {_named(mine, at)} for rank {rank}, which came to its end without it"
                self._found(mine, text, [], at)
                return

    def _found(
        self, at: Step, text: str, related: list, apart: dict[int, Step], number: int = 806, mend: str = _MEND
    ) -> None:
        self.said = True
        if number == 806 and _LOGS.search(linecache.getline(at.filename, at.row)) and self.watch.wants(823):
            number, mend = 823, _NO_AVERAGE
        details = {f"rank {rank}": f"{step.call} {step.what}".strip() for rank, step in sorted(apart.items())}
        place: Any = at
        self.found(
            number, place, key=("desync", at.group, at.number), words=(text, mend),
            related=tuple(related), details={"number": at.number, **details},
        )

    def _speak(self, board: Board) -> None:
        """It is the first rank that tells what all find; but soon it may be gone (gloo ends a process whose neighbour
        sends another size than it waits for), or hang."""
        if board.me.place and not board.read("told", 0):
            self.watch.gathered.speak()
        board.post("told", 0, True)


def first_difference(trails: dict[int, list[Step]]) -> dict[int, Step] | None:
    """By rank, the first collective of a group that two ranks are not agreed on."""
    by_number: dict[tuple[str, int], dict[int, Step]] = {}
    for rank, steps in trails.items():
        for step in steps:
            by_number.setdefault((step.group, step.number), {})[rank] = step
    for _, apart in sorted(by_number.items(), key=lambda item: item[0][1]):
        if len({(step.call, step.what) for step in apart.values()}) > 1:
            return apart
    return None


def _skipped(apart: dict[int, Step]) -> int | None:
    """The rank that went on without a backward: it is elsewhere, or at the backward of a later forward."""
    if not any(step.call == "backward" for step in apart.values()):
        return None
    behind = [rank for rank, step in apart.items() if step.call == "forward"]
    if behind:
        return behind[0]
    if all(step.call == "backward" for step in apart.values()):
        return max(sorted(apart), key=lambda rank: int(apart[rank].what.rpartition(" ")[2] or 0))
    return None


def _odd_one(apart: dict[int, Step], trails: dict[int, list[Step]]) -> int:
    """The rank that is most likely where it should not be: in the minority, at a line that the others never come to."""
    kinds = Counter((step.call, step.what) for step in apart.values())

    def rare(rank: int) -> tuple:
        step = apart[rank]
        others = {(s.filename, s.row) for other, steps in trails.items() if other != rank for s in steps}
        return kinds[step.call, step.what], (step.filename, step.row) in others, step.call in _NAMES, rank

    return min(apart, key=rare)


def _named(step: Step, apart: dict[int, Step]) -> str:
    alike = len({other.call for other in apart.values()}) == 1
    of = f" of {step.what}" if alike and step.what and len(apart) > 1 else ""
    return (_NAMES.get(step.call) or f"`{step.call}`") + of


CHECKS = (Desync,)
