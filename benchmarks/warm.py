"""How long an editor waits for torchlint: one change in a file of a project, judged by a session that knows the project.

    python benchmarks/warm.py speechbrain/ timm/

Lays out 200 Python files of these folders, among them the five with a `backward` or a `forward` that are nearest to 600 lines,
and the five nearest to 3,000. In each round a line is typed
into a function in the middle of the file (all that stands below moves), and the same text is judged twice: by a session that has
judged the whole project, and by one that knows nothing, in the same process, so that start-up counts for neither. CPU seconds
of this process; the order of the two changes from round to round. Writes its part of RESULTS.md, between its marks.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from results import RESULTS, put  # noqa: E402

SIZES = (600, 3_000)
EACH = 5


def rows_of(path: Path) -> int:
    """How many lines a file has."""
    return path.read_bytes().count(b"\n")


def lay_out(folders: Sequence[Path], to: Path, count: int) -> list[Path]:
    """Copies files of some folders, those of about the wanted sizes first; where they are."""
    files = sorted((path, folder) for folder in folders for path in folder.rglob("*.py") if path.is_file())
    random.Random(0).shuffle(files)
    usable = [(path, folder) for path, folder in files if _trains(path.read_bytes())]
    chosen = [item for size in SIZES for item in sorted(usable, key=lambda item: abs(rows_of(item[0]) - size))[:EACH]]
    beside = {parent for path, _ in chosen for parent in list(path.parents)[:3]}
    rest = sorted((item for item in files if item not in chosen), key=lambda item: -sum(one in beside for one in item[0].parents))
    chosen += rest[: count - len(chosen)]  # what they import is near by
    (to / "setup.cfg").write_text("")
    placed = []
    for path, folder in chosen:
        target = to / path.relative_to(folder.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        placed.append(target)
    return placed


def _trains(raw: bytes) -> bool:
    """Whether a file has something that is worth a dry run, by its words."""
    return b"torch" in raw and (b".backward(" in raw or b"def forward(" in raw)


def typed(text: str, turn: int) -> str:
    """The text with a line typed at the start of the function that is nearest to the middle."""
    lines = text.split("\n")
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.body[0].lineno > node.lineno]
    first = min((node.body[0] for node in functions), key=lambda node: abs(node.lineno - len(lines) // 2))
    lines.insert(first.lineno - 1, " " * first.col_offset + f"turn = {turn}")
    return "\n".join(lines)


def cpu(work: Callable[[], object]) -> float:
    """The CPU seconds of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def rows(files: Sequence[Path], project: Path, rounds: int) -> list[list[str]]:
    """The table's rows, by file."""
    from torchlint import Session

    session = Session(project)
    for path in files:
        session.check(path)
    table = []
    for path in files[: len(SIZES) * EACH]:
        text = path.read_text()
        costs: dict[str, list[float]] = {"warm": [], "cold": [], "same": []}
        for turn in range(rounds):
            now = typed(text, turn)
            work = [("warm", lambda now=now: session.check(path, now)), ("cold", lambda now=now: Session(project).check(path, now))]
            for name, one in work if turn % 2 else reversed(work):
                costs[name].append(cpu(one))
            costs["same"].append(cpu(lambda now=now: session.check(path, now)))
        session.forget(path)
        ratio = statistics.median(cold / warm for cold, warm in zip(costs["cold"], costs["warm"]))
        table.append([
            path.name, f"{rows_of(path):,}", f"{statistics.median(costs['warm']):.3f} s", f"{max(costs['warm']):.3f} s",
            f"{statistics.median(costs['cold']):.3f} s", f"{ratio:.2f}", f"{1000 * statistics.median(costs['same']):.0f} ms",
        ])
    return table


def write(table: list[list[str]], count: int, lines: int, names: str) -> None:
    """Puts the table between its marks in RESULTS.md."""
    head = f"""## How long an editor waits

`python benchmarks/warm.py`, {date.today()}: a line typed into a file of a project of {count} files and {lines:,} lines of {names};
CPU seconds to the verdict of a session that knows the project, and of one that knows nothing. {platform.processor() or platform.machine()},
{os.cpu_count()} cores, Python {platform.python_version()}.

| file | lines | warm | warm, the longest | cold | cold against warm | nothing changed |
| --- | --- | --- | --- | --- | --- | --- |
"""
    put("warm", head + "".join(f"| {' | '.join(row)} |\n" for row in table), RESULTS)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--dry", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.folders]
    with tempfile.TemporaryDirectory() as place:
        files = lay_out(folders, Path(place), options.files)
        table = rows(files, Path(place), options.rounds)
        lines = sum(map(rows_of, files))
    for row in table:
        print(" | ".join(row))
    if not options.dry:
        write(table, len(files), lines, ", ".join(folder.name for folder in folders))


if __name__ == "__main__":
    main()
