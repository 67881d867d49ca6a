"""Several ranks, one report: each leaves its findings, as they come, where the first one takes them up at the end.

By files in the machine's temporary folder, not by the process group: a collective waits for a rank that died, or that
never watched, for as long as the group's time-out says, and the group is often destroyed before the watch ends. Nobody
waits here for a process that is gone, and what a rank found before it died is not lost. On several machines the first
rank of each speaks for its machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from torchlint.findings import Finding
from torchsan.own import os, tempfile, time, torch
from torchsan.report.deliver import say

PATIENCE = 20.0  # seconds that the first rank waits for the others, as long as they live
IN_A_HURRY = 1.0  # the same where this rank ended with an error: the others may be stuck
_LATE = 3.0  # seconds that the others wait for the first one to begin
_LOOK_EVERY = 0.01
_TRIES = 8
# What all processes of one launch, and no other's, have in common, together with the process that started them.
_LAUNCH = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT")
_meetings = [0]  # watches of this process that took part: the ranks make them in the same order


class Who(NamedTuple):
    """Which of how many processes this is. `rank` and `world` count all of them; `place` and `here` the machine's."""

    rank: int
    world: int
    place: int
    here: int


def who() -> Who | None:
    """Which process this is; None where it is the only one, or not known (yet) to be one of several."""
    dist = torch.distributed
    rank, world = _number("RANK"), _number("WORLD_SIZE")
    if dist.is_available() and dist.is_initialized():
        rank, world = dist.get_rank(), dist.get_world_size()
    if rank is None or world is None or world < 2:
        return None
    place, here = _number("LOCAL_RANK"), _number("LOCAL_WORLD_SIZE")
    return Who(rank, world, rank if place is None else place, world if here is None else here)


class Left(msgspec.Struct):
    """What one process leaves for another: what it found so far, in how many optimizer steps.

    `told`: the process told of it itself; `over`: this is the last word; `series`: the course of its run, in brief.
    """

    pid: int
    rank: int | None
    steps: int
    findings: list[Finding]
    told: bool = False
    over: bool = False
    series: dict[str, Any] = {}


def leave(path: Path, left: Left) -> None:
    """Write `left` to `path`, all at once: nobody may read half of it.

    Raises:
        OSError: it cannot be written.
    """
    write(path, msgspec.json.encode(left, enc_hook=str))


def write(path: Path, text: bytes) -> None:
    """Write a file all at once: nobody may read half of it.

    Raises:
        OSError: it cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    for left in reversed(range(_TRIES)):
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            part.write_bytes(text)
            part.replace(path)
            return
        except (FileNotFoundError, FileExistsError):
            # Another rank, done with an earlier watch, has just removed the folder: before the file was written, or
            # between two questions of `mkdir`, which found it there and then found that it is none.
            if not left:
                raise


def read(path: Path) -> Left | None:
    """What was left at `path`; None where there is nothing."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Left)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        say(f"{path} cannot be read: {error}")
        return None


class Meeting:
    """Where the ranks of one machine leave what one watch found."""

    def __init__(self, me: Who):
        self.me = me
        _meetings[0] += 1
        launch = "\0".join([*(os.environ.get(name, "") for name in _LAUNCH), str(os.getppid())])
        user = str(getattr(os, "getuid", lambda: "")())
        self.folder = Path(tempfile.gettempdir()) / f"torchsan-{user}-{sha256(launch.encode()).hexdigest()[:16]}"
        self.prefix = f"{_meetings[0]}."
        self._pid = os.getpid()
        self._open = self._is_ours()
        if self.leads:
            self._remove(["closed"])  # of an earlier launch from the same process

    @property
    def is_open(self) -> bool:
        """Whether there is a folder to leave things in."""
        return self._open

    @property
    def leads(self) -> bool:
        """Whether this rank takes up what the others leave."""
        return self.me.place == 0

    def leave(self, left: Left) -> None:
        """Leave this rank's findings where the first one finds them."""
        if not self._open or self._pid != os.getpid():
            return
        try:
            leave(self._file(self.me.place), left)
        except (OSError, TypeError, ValueError) as error:
            self._open = False
            say(f"rank {self.me.rank} cannot leave its findings: {error}")

    def is_taken(self) -> bool:
        """Whether the first rank will take up what this one left: False where it is gone, or has gone on without us."""
        end = time.monotonic() + _LATE
        while self._open and self._pid == os.getpid():
            if self._file("closed").exists():
                break
            first = read(self._file(0))
            if first is not None and is_alive(first.pid):
                return True
            if not self._file(self.me.place).exists():
                return True  # it has been taken up meanwhile
            if first is not None or time.monotonic() > end:
                break
            time.sleep(_LOOK_EVERY)
        self._remove([str(self.me.place)])
        if not self._others():
            self._remove(["0", "closed"])  # nobody is left to read them
        return False

    def take(self, in_a_hurry: bool = False) -> list[Left]:
        """What the other ranks left. Waits for those that are alive and not done; says whose word is not the last."""
        if not self._open or self._pid != os.getpid():
            return []
        end = time.monotonic() + (IN_A_HURRY if in_a_hurry else PATIENCE)
        while True:
            # Asked first: what a process leaves before it ends is there afterwards.
            running = {place for place, left in self._others().items() if not left.over and is_alive(left.pid)}
            others = self._others()
            waiting = [place for place in running if not others[place].over]
            if not waiting or time.monotonic() > end:
                break
            time.sleep(_LOOK_EVERY)
        unfinished(left for left in others.values() if not left.over)
        self._close(others, complete=not waiting)
        return list(others.values())

    def _others(self) -> dict[int, Left]:
        found = {place: read(self._file(place)) for place in range(1, self.me.here)}
        return {place: left for place, left in found.items() if left is not None}

    def _is_ours(self) -> bool:
        """Whether the folder is there and nobody else's: another user's is not to be read or written."""
        failure: OSError | None = None
        for _ in range(_TRIES):
            try:
                self.folder.mkdir(mode=0o700, exist_ok=True)
                return not hasattr(os, "getuid") or self.folder.lstat().st_uid == os.getuid()
            except OSError as error:  # gone again: another rank, done with an earlier watch, has just removed it
                failure = error
        say(f"findings of the ranks cannot be brought together: {failure}")
        return False

    def _close(self, others: Iterable[int], complete: bool) -> None:
        """Leave nothing behind, except a word for those that come late."""
        try:
            if not complete:
                self._file("closed").write_bytes(b"")
        except OSError:
            pass  # they see that nobody is here any more
        self._remove(["0", *map(str, others)])

    def _remove(self, names: Iterable[str]) -> None:
        try:
            for name in names:
                self._file(name).unlink(missing_ok=True)
                for path in self.folder.glob(f"{self.prefix}{name}.*"):  # what it left on the board
                    path.unlink(missing_ok=True)
            self.folder.rmdir()
        except OSError:
            pass  # somebody still uses the folder

    def _file(self, name: object) -> Path:
        return self.folder / f"{self.prefix}{name}"


def unfinished(left: Iterable[Left]) -> None:
    """Say which processes did not come to an end; what they left until then counts."""
    for one in left:
        who = f"process {one.pid}" if one.rank is None else f"rank {one.rank}"
        how = "has not come to its end yet" if is_alive(one.pid) else "ended before its watch did"
        say(f"{who} {how}: what it found until then is in this report")


def is_alive(pid: int) -> bool:
    """Whether a process runs. One that ended counts as ended, also before anybody has asked for its status."""
    if os.name == "nt":
        return True  # to ask there would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    # Ended, but whoever started it has not looked yet: it still counts as a process.
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True


def _number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isdigit() else None
