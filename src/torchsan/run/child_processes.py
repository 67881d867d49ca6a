"""Processes that a program under `torchsan run` starts with multiprocessing (torch.multiprocessing.spawn too) are
watched where they run a function of the user's, and what they find is in the report of the one that started them.

A started process is not begun by us, so the function that it is to run is replaced by a `Watched` one, which begins a
watch of its own there. Workers of a DataLoader or of a pool run no function of the user's, and stay as they are.
"""

from __future__ import annotations

import multiprocessing.process
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from torchsan.options import Options
from torchsan.own import functools, os, tempfile
from torchsan.program.where import _USER, kind_of
from torchsan.ranks.joint_report import Left, read, unfinished
from torchsan.report import printing
from torchsan.report.deliver import say
from torchsan.run.enough import Enough, end_after
from torchsan.run.launch import trimmed
from torchsan.stream import events
from torchsan.watcher import Watch

_inherited: list[Watch] = []  # the watch of this process over itself


class Children:
    """The processes that this one starts.

    Args:
        san: the watch over this process itself. Those over the others have the same options.
        base: the folder that paths are told from.
        most: end each of them after so many optimizer steps.
    """

    def __init__(self, san: Watch, base: str, most: int | None = None):
        self._san = san
        self._settings = (msgspec.structs.replace(san.options, on_finding="collect"), base, most)
        self._folder: Path | None = None
        self._pid = os.getpid()

    def begin(self) -> None:
        """From now on, processes that are started are watched."""
        start = self._start = multiprocessing.process.BaseProcess.start

        @functools.wraps(start)
        def watched(process: Any) -> None:
            if os.getpid() == self._pid:
                self._prepare(process)
            start(process)

        _inherited.append(self._san)
        self._watched = multiprocessing.process.BaseProcess.start = watched  # type: ignore[method-assign]

    def end(self) -> list[Left]:
        """Start processes as ever; what those that were started found, first what was told already."""
        _inherited.clear()
        if multiprocessing.process.BaseProcess.start is self._watched:
            multiprocessing.process.BaseProcess.start = self._start  # type: ignore[method-assign]
        if self._folder is None:
            return []
        left = [one for path in sorted(self._folder.iterdir()) if path.suffix == ".json" and (one := read(path))]
        unfinished(one for one in left if not one.over)
        shutil.rmtree(self._folder, ignore_errors=True)
        return sorted(left, key=lambda one: not one.told)

    def _prepare(self, process: Any) -> None:
        target, args = getattr(process, "_target", None), getattr(process, "_args", ())
        by_torch = getattr(target, "__module__", "") == "torch.multiprocessing.spawn" and args
        # torch's own function turns errors of the one that it is given into words: that one has to be watched.
        function = args[0] if by_torch else target
        if not callable(function) or not (by_torch or _is_users(function)):
            return
        if self._folder is None:
            try:
                self._folder = Path(tempfile.mkdtemp(prefix="torchsan-"))
            except OSError as error:
                say(f"processes that are started cannot be watched: {error}")
                return
        watched = Watched(function, *self._settings, str(self._folder))
        if by_torch:
            process._args = (watched, *args[1:])
        else:
            process._target = watched


def _is_users(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None) or getattr(getattr(type(function), "__call__", None), "__code__", None)
    return code is not None and kind_of(code.co_filename) == _USER


class Watched:
    """A function, run under a watch, in a process of its own: this goes there by pickle, or by fork."""

    def __init__(self, function: Callable, options: Options, base: str, most: int | None, folder: str):
        self.function = function
        self.options = options
        self.base = base
        self.most = most
        self.folder = folder

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        san = self._watch()
        if self.most is not None:
            end_after(self.most, san)
        try:
            result = self.function(*args, **kwargs)
        except Enough:
            san.stop()
            return None
        except BaseException as error:
            san.stop(error)
            raise error.with_traceback(trimmed(error.__traceback__))
        san.stop()
        return result

    def _watch(self) -> Watch:
        options = msgspec.structs.replace(self.options, on_finding=functools.partial(printing.to_stderr, base=self.base))
        san = Watch((), (), options)
        san.gathered.one_voice = True
        san.leaves_at = Path(self.folder) / f"{os.getpid()}.json"
        san.start()
        while _inherited:
            events.leave(_inherited.pop())  # a forked process has the watch of its parent, which nobody will stop
        return san
