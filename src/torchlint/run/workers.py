"""Judges files: here, or in several processes where there is enough to do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator

from torchlint.files.garbage import collect_if_much, no_gc
from torchlint.run.discovery import File
from torchlint.run.judge import Judge, Order, Verdict

# Below this a second process costs more than it saves.
SMALL_RUN_BYTES = 100_000


def default_jobs() -> int:
    """How many processes may run at once on this machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def judge_all(files: Iterable[File], order: Order, jobs: int) -> Iterator[tuple[File, Verdict, float]]:
    """The verdict on each file, and the seconds that it took, in the order in which they become known."""
    todo = list(files)
    jobs = min(jobs, len(todo))
    if jobs <= 1 or sum(file.size for file in todo) < SMALL_RUN_BYTES:
        yield from _judge_here(todo, order)
    else:
        from torchlint.run.pool import Pool  # half of the runs are over one file, and need no multiprocessing

        yield from Pool(order, jobs).judge(todo)


def _judge_here(files: Iterable[File], order: Order) -> Iterator[tuple[File, Verdict, float]]:
    judge = Judge(order)
    with no_gc():  # between files, too: to turn it on is to have all looked through that the file has left
        for file in files:
            start = time.perf_counter()
            verdict = judge.file(file.path)
            collect_if_much()
            yield file, verdict, time.perf_counter() - start
