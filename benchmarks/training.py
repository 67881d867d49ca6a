"""Repositories full of training scripts: how fast their longer files are read, beside TorchFix, and what each file takes.

Part of `lint_speed.py`, which says how tools are run. Of each repository the files of 500 to 3,000 lines that speak of torch
are judged; all others lie beside them, for they are imported.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slow_files import BAR, costs

LEAST, MOST = 500, 3_000


@dataclass(frozen=True)
class Repository:
    """A checked-out repository, and the commit that it stands at, if that was said."""

    folder: Path
    commit: str = ""

    @classmethod
    def of(cls, given: str) -> Repository:
        """`FOLDER` or `FOLDER@COMMIT`."""
        folder, _, commit = given.partition("@")
        return cls(Path(folder).resolve(), commit)


def scripts(folder: Path) -> list[Path]:
    """The files of a folder that are judged."""
    files = sorted(path for path in folder.rglob("*.py") if path.is_file())
    raw = {path: path.read_bytes() for path in files}
    return [path for path in files if LEAST <= raw[path].count(b"\n") <= MOST and b"torch" in raw[path]]


Rate = Callable[[str, Sequence[Path], int], float]


def of_each(repositories: Sequence[Repository], lay_out: Callable[[Path, Path], object], rate: Rate, rounds: int) -> list[list[str]]:
    """A row for each repository, and one for all. `rate` gives the lines per CPU-second of a tool over some files."""
    found = []
    totals = {"torchlint": 0.0, "TorchFix": 0.0}
    all_lines = all_files = all_over = all_parts = 0
    for repository in repositories:
        with tempfile.TemporaryDirectory() as place:
            lay_out(repository.folder, Path(place))
            files = scripts(Path(place))
            lines = sum(path.read_bytes().count(b"\n") for path in files)
            rates = {}
            for name in totals:
                rates[name] = statistics.median(rate(name, files, lines) for _ in range(rounds))
                totals[name] += lines / rates[name]
            each = costs(files)
        over = [one for one in each if one.per_1000 > BAR]
        parts = [one for one in each if one.in_part]
        worst = max(each, key=lambda one: one.per_1000)
        all_lines, all_files = all_lines + lines, all_files + len(files)
        all_over, all_parts = all_over + len(over), all_parts + len(parts)
        found.append([
            f"{repository.folder.name} {repository.commit[:12]}".strip(), f"{len(files)}", f"{lines:,}", f"{rates['torchlint']:,.0f}",
            f"{rates['torchlint'] / rates['TorchFix']:.1f}", f"{len(over)}", f"{len(parts)}",
            f"{worst.path.name}, {worst.lines:,} lines: {worst.seconds:.2f} s",
        ])
        print(" | ".join(found[-1]), flush=True)
    both = {name: all_lines / seconds for name, seconds in totals.items()}
    found.append([
        "all", f"{all_files}", f"{all_lines:,}", f"{both['torchlint']:,.0f}", f"{both['torchlint'] / both['TorchFix']:.1f}",
        f"{all_over}", f"{all_parts}", "",
    ])
    return found


HEAD = f"""
Of repositories full of training code, the files of {LEAST} to {MOST:,} lines, all others beside them; what a file takes is CPU of a
process that has judged other files before it, and not this one:

| repository | files | lines | lines per CPU-second | times TorchFix | files over {BAR} s per 1,000 lines | judged in part | the slowest |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
