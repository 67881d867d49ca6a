"""How long the slowest files take: each file of some folders judged by itself, in one process, as an editor asks for it.

    python benchmarks/slow_files.py cleanrl/ OpenNMT-py/ SlowFast/ speechbrain/recipes/ fairseq/

Prints, and puts into RESULTS.md, for each folder: lines, CPU seconds per 1,000 lines over all, and the slowest files by that
figure. Small files cost what their imports cost, so files of fewer than `--least` lines are judged and not ranked.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]
from results import RESULTS, put  # noqa: E402

from torchlint.catalogue.pages import catalogue  # noqa: E402
from torchlint.files.garbage import collect_if_much, no_gc  # noqa: E402
from torchlint.run.judge import Judge, Order  # noqa: E402
from torchlint.settings.selection import active  # noqa: E402

BAR = 1.5  # CPU seconds per 1,000 lines


@dataclass(frozen=True)
class Cost:
    """What the verdict on one file takes, in CPU seconds; whether it was judged in part."""

    path: Path
    lines: int
    seconds: float
    in_part: bool

    @property
    def per_1000(self) -> float:
        return self.seconds / max(self.lines, 1) * 1000


def costs(files: Sequence[Path]) -> list[Cost]:
    """What each file takes of a process that has judged other files before it, and not these."""
    rules = active(catalogue())
    found = []
    Judge(Order(rules)).file(__file__)  # loads what is loaded once
    for path in files:
        judge = Judge(Order(rules))
        lines = path.read_bytes().count(b"\n")
        with no_gc():  # as all do who ask
            began = time.process_time()
            verdict = judge.file(str(path))
            in_part = any(problem.note for problem in verdict.problems)
            found.append(Cost(path, lines, time.process_time() - began, in_part))
            collect_if_much()
    return found


def row(folder: Path, found: Sequence[Cost], least: int) -> tuple[list[str], list[str]]:
    """A row of the table, and the slowest files in words."""
    lines, seconds = sum(one.lines for one in found), sum(one.seconds for one in found)
    ranked = sorted((one for one in found if one.lines >= least), key=lambda one: one.per_1000, reverse=True)
    over = [one for one in ranked if one.per_1000 > BAR]
    worst = [f"{one.path.relative_to(folder.parent)}, {one.lines} lines: {one.seconds:.2f} s" for one in ranked[:3]]
    return [folder.name, f"{len(found)}", f"{lines:,}", f"{seconds / max(lines, 1) * 1000:.2f}", f"{len(over)} of {len(ranked)}",
            f"{sum(one.in_part for one in found)}"], worst


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--least", type=int, default=300, help="lines of a file that is ranked")
    parser.add_argument("--no-write", action="store_true", help="print only")
    options = parser.parse_args()
    text = (
        f"## The slowest files\n\n`python benchmarks/slow_files.py`, {date.today()}: each file judged by itself. "
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.\n\n"
        f"| | files | lines | CPU seconds per 1,000 lines | over {BAR} s per 1,000 lines, of files with {options.least} lines | judged in part |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
    )
    slowest = []
    for folder in (folder.resolve() for folder in options.folders):
        cells, worst = row(folder, costs(sorted(path for path in folder.rglob("*.py") if path.is_file())), options.least)
        print(*cells, *worst, sep="\n  ", flush=True)
        text += f"| {' | '.join(cells)} |\n"
        slowest += worst
    if not options.no_write:
        put("slow_files", f"{text}\nThe slowest of each: {'; '.join(slowest)}.\n", RESULTS)


if __name__ == "__main__":
    main()
