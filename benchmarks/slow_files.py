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
from datetime import date
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]
from results import RESULTS, put  # noqa: E402

from torchlint.catalogue.pages import catalogue  # noqa: E402
from torchlint.files.garbage import collect_if_much, no_gc  # noqa: E402
from torchlint.run.judge import Judge, Order  # noqa: E402
from torchlint.settings.selection import active  # noqa: E402

BAR = 1.5  # CPU seconds per 1,000 lines


def costs(folder: Path) -> list[tuple[Path, int, float]]:
    """Each file, its lines, and the CPU seconds of a verdict by a process that has judged other files before it, and not these."""
    rules = active(catalogue())
    found = []
    Judge(Order(rules)).file(__file__)  # loads what is loaded once
    for path in sorted(path for path in folder.rglob("*.py") if path.is_file()):
        judge = Judge(Order(rules))
        lines = path.read_bytes().count(b"\n")
        with no_gc():  # as all do who ask
            began = time.process_time()
            judge.file(str(path))
            found.append((path, lines, time.process_time() - began))
            collect_if_much()
    return found


def row(folder: Path, found: Sequence[tuple[Path, int, float]], least: int) -> tuple[list[str], list[str]]:
    """A row of the table, and the slowest files in words."""
    lines, seconds = sum(count for _, count, _ in found), sum(cost for *_, cost in found)
    ranked = sorted((one for one in found if one[1] >= least), key=lambda one: one[2] / one[1], reverse=True)
    over = [one for one in ranked if one[2] / one[1] * 1000 > BAR]
    worst = [f"{path.relative_to(folder.parent)}, {count} lines: {cost:.2f} s" for path, count, cost in ranked[:3]]
    return [folder.name, f"{len(found)}", f"{lines:,}", f"{seconds / max(lines, 1) * 1000:.2f}", f"{len(over)} of {len(ranked)}"], worst


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
        f"| | files | lines | CPU seconds per 1,000 lines | over {BAR} s per 1,000 lines, of files with {options.least} lines |\n"
        "| --- | --- | --- | --- | --- |\n"
    )
    slowest = []
    for folder in (folder.resolve() for folder in options.folders):
        cells, worst = row(folder, costs(folder), options.least)
        print(*cells, *worst, sep="\n  ", flush=True)
        text += f"| {' | '.join(cells)} |\n"
        slowest += worst
    if not options.no_write:
        put("slow_files", f"{text}\nThe slowest of each: {'; '.join(slowest)}.\n", RESULTS)


if __name__ == "__main__":
    main()
