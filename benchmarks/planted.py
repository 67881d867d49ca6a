"""Mistakes planted in programs of public repositories: how many are named, by number and line.

    python benchmarks/planted.py --programs FOLDER --csv benchmarks/planted.csv

FOLDER/<owner>/<name> holds each repository at its commit. `planted.toml` has the facts: programs, what makes each small
enough and its data (made up by `planted_data.py`), and the mistakes: a pattern for one line, what it becomes, and the
number that has to be told. Each program runs as it is and with each of its mistakes, under `torchsan run`, at both levels,
in a folder of its own. A mistake counts as named where its number is told, and as placed where a line that the finding
names is the changed one, or one that fits `at`: a line that is gone cannot be named.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from planted_data import DATA

HERE = Path(__file__).parent
LEVELS = ("default", "thorough")
MOST_SECONDS = 300
REPORT = "torchsan.json"
DEEP = "a/b/c/d"  # programs look for data several folders up
STAND_IN = "import sys\nfrom unittest.mock import MagicMock\n\nsys.modules[__name__] = MagicMock()\n"


class Told(NamedTuple):
    """What a run told: numbers with the file and all rows of each finding; or why there was none."""

    findings: list[tuple[int, set[tuple[str, int]]]]
    failed: str = ""


def copied(program: dict[str, Any], programs: Path, to: Path) -> Path:
    """The folder that a program runs in, in a copy that is made small and has its data."""
    root = to / DEEP / "program"
    shutil.copytree(programs / program["repository"], root, ignore=shutil.ignore_patterns(".git", "docs", "*.ipynb"))
    folder = root / program["folder"]
    for name, line, becomes in program.get("small", ()):
        file = folder / name
        changed, count = re.subn(line, becomes, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if not count:
            raise ValueError(f"{name}: no line fits {line!r}")
        file.write_text(changed, encoding="utf-8")
    for made, where in program.get("data", {}).items():
        DATA[made](folder / where)
    for name in program.get("stand_ins", ()):
        (folder / f"{name}.py").write_text(STAND_IN, encoding="utf-8")
    return folder


def planted(folder: Path, mistake: dict[str, Any]) -> tuple[int, set[tuple[str, int]]]:
    """Change the line that the pattern finds, the first or the one of `nth`: its row, and all places that may be named.

    Raises:
        ValueError: no line fits.
    """
    file = folder / mistake["file"]
    rows = file.read_text(encoding="utf-8").splitlines(keepends=True)
    fit = [at for at, row in enumerate(rows) if re.search(mistake["line"], row.rstrip("\n"))]
    if len(fit) < mistake.get("nth", 1):
        raise ValueError(f"{file.name}: no line fits {mistake['line']!r}")
    at = fit[mistake.get("nth", 1) - 1]
    rows[at] = re.sub(mistake["line"], mistake["becomes"], rows[at].rstrip("\n")) + "\n"
    file.write_text("".join(rows), encoding="utf-8")
    right = {(file.name, at + 1)}
    if "at" in mistake:
        root = next(one for one in (folder, *folder.parents) if one.name == "program")
        for other in root.rglob("*.py"):
            text = other.read_text(encoding="utf-8").splitlines()
            right |= {(other.name, where) for where, row in enumerate(text, 1) if re.search(mistake["at"], row)}
    return at + 1, right


def begun(folder: Path, program: dict[str, Any], level: str) -> int:
    """Run a program under torchsan, in a process that has torch already: the number of the process."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        os.chdir(folder)
        for descriptor in (1, 2):
            os.dup2(os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
        sys.path[1:1] = [str(folder / one) for one in program.get("path", ())]
        sys.argv = ["torchsan", "run", "--level", level, "--report", REPORT, "-q", program["script"]]
        sys.argv += program.get("arguments", "").split()
        from torchsan.run.cli import main
        from torchsan.run.launch import shut_down

        try:
            code = main()
        except Exception:
            traceback.print_exc()
        except SystemExit as ended:
            code = int(ended.code or 0) if not isinstance(ended.code, str) else 1
        shut_down()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def last_line(folder: Path) -> str:
    """The end of what a run printed."""
    printed = (folder / "printed.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""]
    return printed[-1][:80]


def told(folder: Path) -> Told:
    """What the run in this folder has told."""
    report = folder / REPORT
    if not report.exists():
        return Told([], "no report: " + last_line(folder))
    found = []
    for one in json.loads(report.read_text(encoding="utf-8")):
        places = {(Path(place["filename"]).name, place["location"]["row"]) for place in (one, *one.get("related", ()))}
        found.append((int(re.sub(r"\D", "", one["code"])), places))
    return Told(found)


def verdict(result: Told, number: int, right: set[tuple[str, int]]) -> str:
    """One cell of the table."""
    if result.failed:
        return result.failed
    named = [places for code, places in result.findings if code == number]
    others = sorted({code for code, _ in result.findings} - {number})
    beside = f" (and {', '.join(map(str, others))})" if others else ""
    if not named:
        return "not named" + beside
    return ("named and placed" if any(places & right for places in named) else "named") + beside


def cell(mistake: dict[str, Any] | None, result: Told, right: set[tuple[str, int]]) -> str:
    if mistake is not None:
        return verdict(result, mistake["number"], right)
    numbers = sorted({code for code, _ in result.findings})
    return result.failed or ", ".join(map(str, numbers)) or "silent"


def rows_of(
    wanted: list[tuple[str, dict[str, Any], dict[str, Any] | None]], programs: Path, jobs: int, levels: Sequence[str]
) -> Iterator[list[str]]:
    """The rows of the table as they are done: program, what was changed, the number, a cell a level."""
    todo = [(at, level) for at in range(len(wanted)) for level in levels]
    running: dict[int, tuple[int, str, str, Path, set[tuple[str, int]], float]] = {}
    rows: dict[int, list[str]] = {}
    while todo or running:
        while todo and len(running) < jobs:
            at, level = todo.pop(0)
            name, program, mistake = wanted[at]
            scratch = tempfile.mkdtemp()  # and no TemporaryDirectory, which a forked process would remove, too
            folder, row, right = copied(program, programs, Path(scratch)), 0, set()
            if mistake is not None:
                row, right = planted(folder, mistake)
            where = f"{mistake['file']}:{row}" if mistake is not None else "as it is"
            rows.setdefault(at, [name, where, str(mistake["number"]) if mistake is not None else "", *("" for _ in levels)])
            running[begun(folder, program, level)] = at, level, scratch, folder, right, time.monotonic()
        for process, (at, level, scratch, folder, right, start) in list(running.items()):
            late = time.monotonic() - start > MOST_SECONDS
            if late:
                os.kill(process, signal.SIGKILL)
            ended, status = os.waitpid(process, 0 if late else os.WNOHANG)
            if ended:
                result = Told([], "too slow") if late else told(folder)
                if status and wanted[at][2] is None and not result.failed:
                    result = Told([], "failed: " + last_line(folder))
                rows[at][3 + levels.index(level)] = cell(wanted[at][2], result, right)
                if os.environ.get("PLANTED_SHOW"):
                    print((folder / "printed.txt").read_text(encoding="utf-8", errors="replace")[-9000:], flush=True)
                shutil.rmtree(scratch, ignore_errors=True)
                del running[process]
                if all(rows[at][3:]):
                    yield rows[at]
        time.sleep(0.1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--csv", type=Path, help="write the table to this file, too")
    parser.add_argument("--only", default="", help="programs whose names fit this pattern")
    parser.add_argument("--number", type=int, default=-1, help="mistakes of this number; 0: programs as they are")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--level", choices=LEVELS, help="this level alone")
    given = parser.parse_args()
    levels = (given.level,) if given.level else LEVELS
    os.environ.update(OMP_NUM_THREADS="1", MPLBACKEND="Agg")
    for package in ("torch", "torchvision"):  # once for all runs
        with contextlib.suppress(ImportError):
            __import__(package)
    facts = tomllib.loads((HERE / "planted.toml").read_text(encoding="utf-8"))
    wanted = [
        (name, program, mistake)
        for name, program in facts.items() if re.search(given.only, name)
        for mistake in (None, *program.get("mistakes", ()))
        if given.number in (-1, 0 if mistake is None else mistake["number"])
    ]
    rows = []
    for row in rows_of(wanted, given.programs, given.jobs, levels):
        rows.append(row)
        print(" | ".join(row), flush=True)
    order = list(facts)
    rows.sort(key=lambda row: (order.index(row[0]), row[1] != "as it is"))
    if given.csv:
        with given.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([["program", "mistake", "number", *levels], *rows])
    mistakes = [row for row in rows if row[2]]
    for at, level in enumerate(levels, 3):
        named = sum(row[at].startswith("named") for row in mistakes)
        placed = sum(row[at].startswith("named and placed") for row in mistakes)
        print(f"{level}: {named} of {len(mistakes)} named, {placed} of them placed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
