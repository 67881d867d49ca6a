"""Judges files in several processes. A process that dies costs the one file it was at, and is replaced."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait

import msgspec

from torchlint.files.garbage import collect_if_much
from torchlint.files.source import Problem
from torchlint.run.discovery import File
from torchlint.run.judge import Judge, Order, Verdict

_CHUNK_BYTES = 64_000
_CHUNK_FILES = 16


def _serve(pipe: Connection, order: Order) -> None:
    """The life of a worker: paths come in, verdicts go out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends the workers
    judge, encode = Judge(order), msgspec.msgpack.Encoder().encode
    gc.disable()
    while True:
        try:
            paths = msgspec.msgpack.decode(pipe.recv_bytes(), type=list[str])
        except (EOFError, OSError):
            return
        for path in paths:
            start = time.perf_counter()
            verdict = judge.file(path)
            pipe.send_bytes(encode((verdict, time.perf_counter() - start)))
            collect_if_much()


class _Worker:
    """One process, the pipe to it, and the files it was given and has not answered."""

    def __init__(self, context: multiprocessing.context.BaseContext, order: Order):
        self.pipe, theirs = context.Pipe()
        self.open: deque[File] = deque()
        self.process = context.Process(target=_serve, args=(theirs, order), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, files: list[File]) -> None:
        self.open.extend(files)
        try:
            self.pipe.send_bytes(msgspec.msgpack.encode([file.path for file in files]))
        except OSError:
            pass  # it died; reading from it says so

    def end(self) -> None:
        self.pipe.close()
        self.process.terminate()
        self.process.join()


class Pool:
    """Keeps `jobs` workers busy."""

    def __init__(self, order: Order, jobs: int):
        # Forking is fast and safe here: no thread was started. Elsewhere the platform's own way is.
        self._context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
        self._order = order
        self._jobs = jobs

    def judge(self, files: list[File]) -> Iterator[tuple[File, Verdict, float]]:
        if self._context.get_start_method() == "fork" and not os.environ.get("TORCHLINT_ENGINE"):
            import torchlint.engine  # noqa: F401  loaded once, before the fork, for all
        todo = deque(files)
        decode = msgspec.msgpack.Decoder(tuple[Verdict, float]).decode
        workers = [_Worker(self._context, self._order) for _ in range(self._jobs)]
        try:
            for worker in workers:
                worker.give(self._chunk(todo))
            while busy := [worker for worker in workers if worker.open]:
                ready = set(wait([worker.pipe for worker in busy]))
                for worker in busy:
                    if worker.pipe not in ready:
                        continue
                    try:
                        verdict, seconds = decode(worker.pipe.recv_bytes())
                    except (EOFError, OSError):
                        yield self._bury(worker, todo)
                        workers[workers.index(worker)] = worker = _Worker(self._context, self._order)
                    else:
                        yield worker.open.popleft(), verdict, seconds
                    if not worker.open and todo:
                        worker.give(self._chunk(todo))
        finally:
            for worker in workers:
                worker.end()

    def _chunk(self, todo: deque[File]) -> list[File]:
        """The next files for one worker: large ones alone, small ones together."""
        taken: list[File] = []
        size, share = 0, max(1, len(todo) // (self._jobs * 2))
        while todo and len(taken) < min(_CHUNK_FILES, share) and size < _CHUNK_BYTES:
            taken.append(todo.popleft())
            size += taken[-1].size
        return taken

    def _bury(self, worker: _Worker, todo: deque[File]) -> tuple[File, Verdict, float]:
        """A dead worker's last file, with what it died of; the files it had not begun go back."""
        worker.process.join(5)
        worker.end()
        file = worker.open.popleft()
        todo.extendleft(reversed(worker.open))
        code = worker.process.exitcode or 0
        try:
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        except ValueError:
            how = f"signal {-code}"
        message = f"internal error, please report it: the process judging this file died ({how})"
        return file, Verdict("", problems=(Problem(file.path, message, internal=True),)), 0.0
