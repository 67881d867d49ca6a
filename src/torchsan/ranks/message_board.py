"""What the ranks of a machine leave for each other while they train: small facts, and the collectives each has come to.

By files beside those of `joint_report.py`, and for the same reasons: nobody waits for anybody, nothing travels through the
process group, and what a rank left is there after it died. Ranks of other machines are not seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from torchlint.findings import Location
from torchsan.own import os, time, weakref
from torchsan.ranks.joint_report import Who, is_alive, write
from torchsan.report.deliver import say

_KEPT = 4  # facts of one kind that stay to be read
_SLOTS, _SLOT = 256, 512  # collectives that a trail remembers, and the bytes of each
_LOOK_EVERY = 0.02
_boards: weakref.WeakKeyDictionary[Any, Board | None] = weakref.WeakKeyDictionary()


def board_of(watch: Any) -> Board | None:
    """The board of the ranks that `watch` is one of; None where it is alone, or there is no place for one."""
    if watch.me is None:
        return None
    if watch not in _boards:
        _boards[watch] = _make(watch)
    return _boards[watch]


def _make(watch: Any) -> Board | None:
    meeting = watch._meeting
    if meeting is not None and not meeting.is_open:
        return None
    folder, prefix = (watch.leaves_at.parent, "") if meeting is None else (meeting.folder, meeting.prefix)
    try:
        return Board(folder, prefix, watch.me)
    except OSError as error:
        say(f"the ranks cannot be compared: {error}")
        return None


class Step(NamedTuple):
    """One collective that a rank has come to.

    `number` counts those of the `group` (its name), from 0; `call` is its name; `what` its size and type, where these
    must be the same on all ranks; `filename` and `row` the user's line.
    """

    group: str
    number: int
    call: str
    what: str
    filename: str
    row: int

    def location(self) -> Location:
        """The line, for a finding."""
        return Location(self.filename, self.row)


class Board:
    """Where the ranks of one watch leave what the others are to see.

    Args:
        folder: shared by the ranks. prefix: of the names of all files there. me: which rank this is.

    Raises:
        OSError: nothing can be written there.
    """

    def __init__(self, folder: Path, prefix: str, me: Who):
        self.me = me
        self._folder, self._prefix = folder, prefix
        self._pid = os.getpid()
        self._counts: dict[str, int] = {}  # collectives so far, by group
        self._written = 0
        self._last = b""  # what this rank came to last, up to the place
        self._trail: int | None = None
        self._near: dict[int, int | None] = {}  # the neighbours' trails, by place
        for path in folder.glob(f"{prefix}{me.place}.*"):
            path.unlink(missing_ok=True)  # of an earlier launch from the same process
        self.post("here", 0, self._pid)

    @property
    def is_ours(self) -> bool:
        """False in a process that the program forked."""
        return os.getpid() == self._pid

    def post(self, kind: str, number: int, value: Any) -> None:
        """Leave fact `number` of a kind. The last few of each kind stay.

        Raises:
            OSError: it cannot be written.
        """
        write(self._file(self.me.place, f"{kind}.{number % _KEPT}"), msgspec.json.encode((self.me.rank, number, value)))

    def read(self, kind: str, number: int) -> dict[int, Any]:
        """What the other ranks left as fact `number` of a kind, by rank."""
        found = {}
        for place in self._others():
            try:
                rank, at, value = msgspec.json.decode(self._file(place, f"{kind}.{number % _KEPT}").read_bytes())
            except (OSError, msgspec.MsgspecError, ValueError):
                continue
            if at == number:
                found[rank] = value
        return found

    def present(self) -> dict[int, bool]:
        """The other ranks that watch, and whether they live."""
        return {rank: is_alive(pid) for rank, pid in self.read("here", 0).items()}

    def await_all(self, kind: str, number: int, seconds: float) -> dict[int, Any]:
        """The same as `read`, once every living rank has left it, or time is over."""
        end = time.monotonic() + seconds
        while True:
            awaited = {rank for rank, lives in self.present().items() if lives}
            found = self.read(kind, number)
            if awaited <= found.keys() or time.monotonic() > end:
                return found
            time.sleep(_LOOK_EVERY)

    # The trail: every collective, before it is called. It costs one write to a file that stays open.

    def comes_to(self, group: str, call: str, what: str, filename: str, row: int) -> None:
        """This rank is about to call a collective.

        Raises:
            OSError: it cannot be written.
        """
        number = self._counts.get(group, 0)
        self._counts[group] = number + 1
        if self._trail is None:
            self._trail = os.open(self._file(self.me.place, "trail"), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            weakref.finalize(self, os.close, self._trail)
            near = {(self.me.place + by) % self.me.here for by in (-1, 1)} - {self.me.place}
            self._near = dict.fromkeys(near)
        line = msgspec.json.encode((group, number, call, what, filename, row))
        self._last = line[:-len(msgspec.json.encode((filename, row)))]
        if len(line) < _SLOT:
            os.pwrite(self._trail, line.ljust(_SLOT, b"\n"), (self._written % _SLOTS) * _SLOT)
        self._written += 1

    def is_agreed(self) -> bool:
        """Whether this rank's neighbours, where they have come as far, are at the same collective as this one.

        Of two that are not, the later one sees it; where all neighbours agree, everybody does. It costs one read each.
        """
        at = ((self._written - 1) % _SLOTS) * _SLOT
        for place, opened in list(self._near.items()):
            if opened is None:
                try:
                    opened = self._near[place] = os.open(self._file(place, "trail"), os.O_RDONLY)
                except OSError:
                    continue  # it has come to none yet
                weakref.finalize(self, os.close, opened)
            line = os.pread(opened, _SLOT, at)
            if line.startswith(self._last):
                continue
            step = next(_steps(line), None)
            if step is not None and self._last.startswith(msgspec.json.encode(step[:2])[:-1] + b","):
                return False  # the same number of the same group, and something else
        return True

    @property
    def has_subgroups(self) -> bool:
        """Whether this rank came to collectives of several groups: then trails do not run side by side."""
        return len(self._counts) > 1

    @property
    def written(self) -> int:
        """How many collectives this rank has come to."""
        return self._written

    def trails(self) -> dict[int, list[Step]]:
        """The last collectives of every rank, this one included, in no order."""
        found = {}
        for rank, place in {self.me.rank: self.me.place, **self._places()}.items():
            try:
                text = self._file(place, "trail").read_bytes()
            except OSError:
                text = b""
            found[rank] = list(_steps(text))
        return found

    def _places(self) -> dict[int, int]:
        found = {}
        for place in self._others():
            try:
                found[msgspec.json.decode(self._file(place, "here.0").read_bytes())[0]] = place
            except (OSError, msgspec.MsgspecError):
                pass
        return found

    def _others(self) -> list[int]:
        return [place for place in range(self.me.here) if place != self.me.place]

    def _file(self, place: int, name: str) -> Path:
        return self._folder / f"{self._prefix}{place}.{name}"


def _steps(text: bytes) -> Any:
    for at in range(0, len(text), _SLOT):
        try:
            yield Step(*msgspec.json.decode(text[at:at + _SLOT].strip(b"\n\0")))
        except (msgspec.MsgspecError, TypeError):
            continue  # nothing there, or it is being written
