"""Mistakes planted in programs of public repositories: how many are named, by number and line.

    python benchmarks/planted.py --programs FOLDER     FOLDER/<owner>/<name> holds each repository at its commit

`planted.toml` has the facts: program, file, a pattern for one line, and what it becomes. Each program runs as it is and with
each of its mistakes, under `torchsan run`, at both levels, in a folder of its own; what is told of the program as it is,
is told in the table too. A run that says the number at any place of the changed file counts as named, and as placed where
that is the changed line or one that the finding points to.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
LEVELS = ("default", "thorough")
MOST_SECONDS = 300


class Told(NamedTuple):
    """What a run told: numbers with the file and all rows of each finding; or why there was none."""

    findings: list[tuple[int, str, set[int]]]
    failed: str = ""


def words(folder: Path) -> None:
    """Text for a language model: words drawn at random."""
    draw = random.Random(0)
    data = folder / "data" / "wikitext-2"
    data.mkdir(parents=True, exist_ok=True)
    for name, lines in (("train", 400), ("valid", 60), ("test", 60)):
        rows = (" ".join(f"w{draw.randrange(60)}" for _ in range(12)) for _ in range(lines))
        (data / f"{name}.txt").write_text(" \n".join(rows) + " \n", encoding="utf-8")


DATA = {"words": words}


def copied(program: dict[str, Any], programs: Path, to: Path) -> Path:
    """The folder of a program, in a copy, with its data made up."""
    source = programs / program["repository"] / program["folder"]
    folder = to / program["folder"]
    shutil.copytree(source, folder)
    if "data" in program:
        DATA[program["data"]](folder)
    return folder


def planted(file: Path, line: str, becomes: str) -> int:
    """Change the first line that the pattern finds; its row.

    Raises:
        ValueError: no line fits.
    """
    rows = file.read_text(encoding="utf-8").splitlines(keepends=True)
    for at, row in enumerate(rows):
        changed, count = re.subn(line, becomes, row, flags=re.MULTILINE)
        if count:
            rows[at] = changed
            file.write_text("".join(rows), encoding="utf-8")
            return at + 1
    raise ValueError(f"{file.name}: no line fits {line!r}")


def told(folder: Path, program: dict[str, Any], level: str) -> Told:
    """Run a program under torchsan and read its report."""
    report = folder / f"torchsan-{level}.json"
    command = [sys.executable, "-m", "torchsan", "run", "--level", level, "--report", str(report), "-q", program["script"]]
    try:
        done = subprocess.run(
            [*command, *program["arguments"].split()], cwd=folder, capture_output=True, text=True, timeout=MOST_SECONDS,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return Told([], "too slow")
    if not report.exists():
        return Told([], (done.stderr.strip().splitlines() or ["no report"])[-1][:80])
    found = []
    for one in json.loads(report.read_text(encoding="utf-8")):
        places = [one, *one.get("related", ())]
        rows = {place["location"]["row"] for place in places}
        found.append((int(re.sub(r"\D", "", one["code"])), Path(one["filename"]).name, rows))
    return Told(found)


def verdict(result: Told, number: int, file: str, row: int) -> str:
    """One cell of the table."""
    if result.failed:
        return result.failed
    rows = [rows for code, where, rows in result.findings if code == number]
    others = sorted({code for code, _, _ in result.findings} - {number})
    beside = f" (and {', '.join(map(str, others))})" if others else ""
    if not rows:
        return "not named" + beside
    return ("named and placed" if any(row in these for these in rows) else "named") + beside


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--only", default="", help="programs whose names begin so")
    given = parser.parse_args()
    facts = tomllib.loads((HERE / "planted.toml").read_text(encoding="utf-8"))
    print("| program | mistake | " + " | ".join(LEVELS) + " |\n|---|---|---|---|", flush=True)
    for name, program in facts["program"].items():
        if not name.startswith(given.only):
            continue
        mutations = [{"number": 0}, *(one for one in facts["mutation"] if one["program"] == name)]
        for one in mutations:
            cells = []
            with tempfile.TemporaryDirectory() as scratch:
                folder = copied(program, given.programs, Path(scratch))
                row = planted(folder / one["file"], one["line"], one["becomes"]) if one["number"] else 0
                for level in LEVELS:
                    result = told(folder, program, level)
                    numbers = ", ".join(str(code) for code, _, _ in result.findings) or "silent"
                    cells.append(verdict(result, one["number"], one["file"], row) if row else result.failed or numbers)
            what = f"{one['number']} at {one['file']}:{row}" if row else "as it is"
            print(f"| {name} | {what} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
