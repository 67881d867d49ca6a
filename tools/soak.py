"""torchsan under fault, the long form: `tests/torchsan/test_faults.py` runs the short one.

    python tools/soak.py                     everything (20 minutes on one core)
    python tools/soak.py --only growth --steps 20000

`faults`: every method of every check and every function of their files raises, in turn, in a program that makes every
kind of event; the numbers stay the same, and each check that failed is said once. `alone`: the same, one check at a
time. `growth`: so many steps under one watch; no kind of object grows by a tenth of the steps. `findings`: ten thousand
times the same mistake. Prints a line for each part; exit status 1 where one did not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.torchsan import faults  # noqa: E402

PARTS = ("faults", "alone", "growth", "findings")


def put_in(alone: bool) -> str:
    """Faults in all checks at once, or in one at a time."""
    bare, count = faults.train(), 0
    for level in ("default", "thorough"):
        for places in faults.rounds(faults.methods, *(() if alone else (faults.functions,))):
            for part in ([place] for place in places) if alone else (places,):
                faults.fails_everywhere(part, bare, level)
                count += 1
    return f"{count} runs with faults, all as without a watch"


def grown(steps: int) -> Iterator[str]:
    """What grew in long runs."""
    for name, share in (("a tutorial's loop", 1), ("uneven steps", 20), ("ever new models", 50)):
        for level in ("default", "thorough"):
            count = steps // share // (1 if level == "default" else 5)
            kinds = faults.growth(faults.LOOPS[name], count // 10, count, level)
            if name == "ever new models":
                kinds = {kind: kinds[kind] for kind in faults.OF_THE_PROGRAM if kinds[kind]}
            assert not kinds, f"{name}, {level}: {dict(kinds)} more after {count} steps"
            yield f"{name}, {level}: {count} steps, no growth"


def found(count: int = 10_000) -> str:
    """The same mistake again and again."""
    objects, san = faults.findings_in_a_loop(count, "thorough")
    counts = [(finding.code, finding.count) for finding in san.findings]
    assert counts == [("TS101", count - 1)] and objects < count // 10, (counts, objects)
    return f"{count} times the same finding: {objects} objects more"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, action="append", help="these parts")
    parser.add_argument("--steps", type=int, default=100_000, help="of the tutorial's loop")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "faults": lambda: iter([put_in(False)]), "alone": lambda: iter([put_in(True)]),
        "growth": lambda: grown(options.steps), "findings": lambda: iter([found()]),
    }
    failed = False
    for name in options.only or PARTS:
        began = time.process_time()
        try:
            for line in parts[name]():
                print(f"{name:8} {line} ({time.process_time() - began:.0f} s of CPU so far)", flush=True)
        except AssertionError as error:
            failed = True
            print(f"{name:8} FAILED: {error}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
