"""Tries inputs in a process of its own, with bounds on time and memory, and goes on after the one that it died of."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from fuzzing.inputs import make
from fuzzing.seeds import Seeds
from fuzzing.trial import Trial

STEP_SECONDS = 10  # of CPU
MOST_BYTES = 2 << 30
_SILENCE = 200  # seconds after which a process that says nothing is not working, but waiting for ever


class Plan(msgspec.Struct):
    """What to run: inputs `first` to `last` (not included) of a seed; of every `whole` one a whole process, too."""

    seed: int
    first: int
    last: int
    whole: int = 0
    large: bool = True
    watched: bool = True


class Tried(msgspec.Struct):
    """What came of one input."""

    number: int
    kind: str
    seconds: float
    wrong: list[str]


def try_all(plan: Plan, seeds: Seeds, counts: Counter) -> Iterator[Tried]:
    """What came of each input, in order. `counts` gets what the trials count, and the most memory used."""
    number = plan.first
    context = multiprocessing.get_context("fork")
    while number < plan.last:
        ours, theirs = context.Pipe()
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            trace = Path(folder, "trace")
            rest = msgspec.structs.replace(plan, first=number)
            process = context.Process(target=_serve, args=(theirs, rest, seeds, Path(folder)), daemon=False)
            process.start()
            theirs.close()
            kind, step = "", ""
            try:
                while number < plan.last:
                    if not ours.poll(_SILENCE):
                        process.kill()
                    word, *given = msgspec.msgpack.decode(ours.recv_bytes())
                    if word == "begin":
                        kind = given[0]
                    elif word == "step":
                        step = given[0]
                    else:
                        counts.update(given[2])
                        counts["most memory in MB"] = max(counts["most memory in MB"], given[3])
                        yield Tried(number, kind, given[0], given[1])
                        number += 1
            except EOFError:
                process.join()
                code = process.exitcode or 0
                how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
                said = trace.read_text(errors="replace") if trace.exists() else ""
                yield Tried(number, kind, 0.0, [f"died of {how} ({step})\n{said[:6000]}"])
                counts["deaths"] += 1
                number += 1
            finally:
                ours.close()
                process.join()


def _serve(pipe: Connection, plan: Plan, seeds: Seeds, folder: Path) -> None:
    encode = msgspec.msgpack.Encoder().encode

    def say(*words) -> None:
        pipe.send_bytes(encode(words))

    trace = open(folder / "trace", "w")
    faulthandler.enable(trace)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    faulthandler.register(signal.SIGPROF, trace, chain=True)  # says where it is, and then dies of it
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def limit(step: str) -> None:
        say("step", step)
        signal.setitimer(signal.ITIMER_PROF, STEP_SECONDS)

    home = folder / "project"
    home.mkdir()
    trial = Trial(home, limit)
    for number in range(plan.first, plan.last):
        item = make(plan.seed, number, seeds, plan.large)
        say("begin", item.kind)
        before, start = Counter(trial.counts), time.process_time()
        wrong = trial.look(item)
        seconds = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        if plan.whole and number % plan.whole == 0:
            say("step", "whole")
            wrong += trial.whole(item)
            trial.counts["whole processes"] += 1
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        say("end", seconds, wrong, trial.counts - before, most)
    pipe.close()
    os._exit(0)
