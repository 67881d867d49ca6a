"""Throws inputs at torchlint that no person would write, and looks at what it makes of them.

    python tools/fuzz.py [--inputs 100000] [--seed N] [--seeds FOLDER] [--keep FOLDER]

Inputs are mutants of the rule pages' blocks, of fixtures/ and of examples/, programs made up from the grammar and the
words of torch (some by hypothesmith), notebooks sound and broken, and text that is deep, long or wide. Each is judged by
all rules, told in the formats, mended, mended again and silenced, as the command would; a sample is given to the command
itself. Nothing of that may raise, be an "internal error", take more than 10 s of CPU or 2 GB, change a program by
`--add-noqa`, or leave something to a second `--fix`. What fails is kept in a folder; the exit status is 1 if anything did.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]

from fuzzing.inputs import make  # noqa: E402
from fuzzing.seeds import read_seeds  # noqa: E402
from fuzzing.watch import Plan, try_all  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=2000, help="how many (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one (default: 0)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other inputs (default: 0)")
    parser.add_argument("--seeds", type=Path, action="append", default=[], help="a folder with more to grow inputs from")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where failing inputs go (default: %(default)s)")
    parser.add_argument("--whole", type=int, default=1000, help="of how many inputs one is given to the command itself; 0: none")
    given = parser.parse_args()
    seeds = read_seeds(given.seeds)
    plan = Plan(given.seed, given.first, given.first + given.inputs, given.whole)
    kinds: dict[str, list[float]] = {}
    slowest: list[tuple[float, int, str]] = []
    counts: Counter = Counter()
    failed, start = 0, time.monotonic()
    try:
        for tried in try_all(plan, seeds, counts):
            kinds.setdefault(tried.kind, []).append(tried.seconds)
            slowest = sorted([*slowest, (tried.seconds, tried.number, tried.kind)], reverse=True)[:10]
            if tried.wrong:
                failed += 1
                item = make(given.seed, tried.number, seeds)
                given.keep.mkdir(parents=True, exist_ok=True)
                stem = given.keep / f"{given.seed}-{tried.number}"
                stem.with_suffix(Path(item.name).suffix).write_bytes(item.raw)
                stem.with_suffix(".txt").write_text(f"{item.kind}, {item.name}\n" + "\n".join(tried.wrong), errors="backslashreplace")
                lines = tried.wrong[0].strip().splitlines()
                print(f"{tried.number} ({item.kind}): {lines[0 if lines[0].startswith('died') else -1][:200]}", flush=True)
            if (tried.number + 1) % 1000 == 0:
                print(f"{tried.number + 1} inputs, {failed} failed, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    print("\n| kind | inputs | CPU s | slowest s |\n|---|---|---|---|")
    for kind, seconds in sorted(kinds.items()):
        print(f"| {kind} | {len(seconds)} | {sum(seconds):.1f} | {max(seconds):.2f} |")
    print("\n" + ", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    print("slowest: " + ", ".join(f"{number} ({kind}) {seconds:.1f} s" for seconds, number, kind in slowest))
    tried_so_far = sum(map(len, kinds.values()))
    print(f"{tried_so_far} inputs of seed {given.seed}, {failed} failed, in {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
