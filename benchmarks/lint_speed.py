"""How fast torchlint reads code, beside other linters and bare parsers.

    python benchmarks/lint_speed.py timm/ examples/ pytorch_geometric/

Counts lines per CPU-second (user and system, child processes too) of whole runs, start to exit, over the same files.
Rounds alternate: every tool runs once in each round, in the same order, and the median of the rounds is told with the
ratio to torchlint's own median. The slow tools are given a random part of the files (`--part` lines, the same for all of
them): lines per second are what is compared.
Each tool is installed from PyPI into an environment of its own in the work folder; torchlint, as its users have it, is
built from this tree. Compiled modules are kept, as Python does by itself.

`--also NAME FOLDER...` gives another set of files, read by torchlint, flake8 and TorchFix alone; `--training FOLDER[@COMMIT]...`
repositories full of training scripts, told file by file (`training.py`). `--single` gives start to exit on one file of 500 lines.
Writes its part of RESULTS.md, between its marks.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from linters import TOOLS, Tool, environment, parse_torchlint  # noqa: E402
from results import RESULTS, put  # noqa: E402
from training import HEAD, Repository, of_each  # noqa: E402

PARSE = """
import gc, sys
from pathlib import Path
gc.disable()
import {module}
for path in Path(sys.argv[1]).read_text().splitlines():
    try:
        {call}(Path(path).read_bytes())
    except Exception:
        pass
"""


def _python(code: str) -> Callable[[Path, Path], list[str]]:
    return lambda bin_, files: [str(bin_ / "python"), "-c", code, str(files / "list.txt")]


def _torchlint(*options: str) -> Callable[[Path, Path], list[str]]:
    base = ["-m", "torchlint", "--output-format", "concise", *options]
    return lambda bin_, files: [str(bin_ / "python"), *base, str(files)]


def _flake8(*options: str) -> Callable[[Path, Path], list[str]]:
    return lambda bin_, files: [str(bin_ / "flake8"), "--isolated", "-j", "1", *options, str(files)]


@dataclass(frozen=True)
class Runner:
    """A row of the table: its name, where it lives (a tool of `linters.py`, a package, "" for here), its command."""

    title: str
    home: str
    command: Callable[[Path, Path], list[str]]
    slow: bool = False  # given a part of the files only


ROWS = (
    Runner("torchlint, cold", "", _torchlint("--no-cache", "-j", "1")),
    Runner("torchlint, cold, all groups", "", _torchlint("--no-cache", "-j", "1", "--select", "ALL")),
    Runner("torchlint, cold, half of the rules", "", _torchlint("--no-cache", "-j", "1", "--select", "HALF")),
    Runner("flake8 alone", "flake8", _flake8()),
    Runner("flake8 with TorchFix", "TorchFix", _flake8(), slow=True),
    Runner("TorchFix", "TorchFix", lambda bin_, files: [str(bin_ / "torchfix"), "-j", "1", str(files)], slow=True),
    Runner("torch-preflight", "torch-preflight",
           lambda bin_, files: [str(bin_ / "torch-preflight"), "check", "-j", "1", str(files)], slow=True),
    Runner("ruff check --select ALL", "ruff",
           lambda bin_, files: [str(bin_ / "ruff"), *"check --isolated --no-cache --select ALL -q".split(), str(files)]),
    Runner("bare libcst.parse_module", "", _python(PARSE.format(module="libcst", call="libcst.parse_module"))),
    Runner("bare ast.parse", "", _python(PARSE.format(module="ast", call="ast.parse"))),
)


@dataclass
class Cost:
    """What one run took: CPU seconds and wall seconds, the largest process in MB."""

    cpu: float
    wall: float
    peak: float


def run(command: Sequence[str]) -> Cost:
    """One run, start to exit, its output thrown away. `wait4` tells of this child and of its own children alone."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 2):
        raise SystemExit(f"{' '.join(command)}: exit status {child.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_maxrss / 1024)


def home(name: str, work: Path) -> Path | None:
    """The `bin` folder where a tool lives, installed if it is not; the torchlint of this tree, anew, where there is no name."""
    envs = work / "speed_envs"
    if not name:
        built = environment(envs / "torchlint", str(Path(__file__).parents[1]))
        if built is None:
            raise SystemExit("torchlint cannot be installed from this tree")
        return built
    tool = TOOLS.get(name) or Tool(name, name, lambda bin_, folders: [], parse_torchlint)
    if name == "TorchFix":
        tool = Tool("TorchFix", "TorchFix", tool.command, tool.parse, ("flake8",))
    return tool.install(envs)


def lay_out(folders: Sequence[Path], to: Path, lines: int | None = None, seed: int = 0) -> int:
    """Copies the folders' Python files under `to` (a random part of about `lines` lines); how many lines there are."""
    files = sorted(path for folder in folders for path in folder.rglob("*.py") if path.is_file())
    bases = {path: folder.parent for folder in folders for path in folder.rglob("*.py")}
    if lines is not None:
        random.Random(seed).shuffle(files)
    total, copies = 0, []
    for path in files:
        target = to / path.relative_to(bases[path])
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        copies.append(str(target))
        total += path.read_bytes().count(b"\n")
        if lines is not None and total >= lines:
            break
    (to / "list.txt").write_text("\n".join(copies))
    return total


def half_of_the_rules() -> str:
    """Every second rule of the default groups."""
    from torchlint.catalogue.pages import DEFAULT_GROUPS, catalogue

    codes = sorted(rule.code for rule in catalogue() if rule.group in DEFAULT_GROUPS and rule.lint != "none")
    return ",".join(f"TL{code:03d}" for code in codes[::2])


def rows(folders: Sequence[Path], homes: dict[str, Path | None], work: Path, part: int, rounds: int) -> tuple[list[list[str]], int]:
    """The table's rows, and how many lines there are in all."""
    half = half_of_the_rules()
    with tempfile.TemporaryDirectory(dir=work) as folder:
        whole, some = Path(folder) / "whole", Path(folder) / "part"
        lines = {whole: lay_out(folders, whole), some: lay_out(folders, some, part)}
        rates: dict[str, list[float]] = {}
        for _ in range(rounds):
            for row in ROWS:
                bin_ = homes[row.home]
                if bin_ is None:
                    continue
                files = some if row.slow else whole
                command = [half if word == "HALF" else word for word in row.command(bin_, files)]
                cost = run(command)
                rates.setdefault(row.title, []).append(lines[files] / cost.cpu)
                print(f"{row.title:40} {lines[files] / cost.cpu:12,.0f} lines per CPU-second", flush=True)
        own = statistics.median(rates[ROWS[0].title])
        table = []
        for row in ROWS:
            middle = statistics.median(rates[row.title]) if row.title in rates else None
            table.append(
                [row.title, "not to be had", ""] if middle is None else
                [row.title, f"{middle:,.0f}", f"{own / middle:.2f}"]
            )
        table += cached(homes[""], whole, lines[whole])
        return table, lines[whole]


def cached(bin_: Path, files: Path, lines: int) -> list[list[str]]:
    """Rows for two processes against one, and for the second run with a cache: wall time is what counts there."""
    base = [str(bin_ / "python"), "-m", "torchlint", "--output-format", "concise"]
    one = min(run([*base, "--no-cache", "-j", "1", str(files)]).wall for _ in range(2))
    two = min(run([*base, "--no-cache", "-j", "2", str(files)]).wall for _ in range(2))
    with tempfile.TemporaryDirectory() as cache:
        filled = run([*base, "-j", "2", "--cache-dir", cache, str(files)])
        warm = min((run([*base, "-j", "2", "--cache-dir", cache, str(files)]) for _ in range(3)), key=lambda c: c.wall)
    return [
        ["torchlint, two processes against one", f"{one:.1f} s → {two:.1f} s wall", f"{one / two:.2f}"],
        ["torchlint, warm", f"{lines / warm.wall:,.0f} a second of wall time ({warm.wall:.2f} s)", ""],
        ["largest process, cold and warm", f"{filled.peak:.0f} MB and {warm.peak:.0f} MB", ""],
    ]


def also(name: str, folders: Sequence[Path], homes: dict[str, Path | None], work: Path, part: int, rounds: int) -> list[list[str]]:
    """Rows for another set of files: the ratios of the three tools that goals are told in."""
    first = [row for row in ROWS if row.title in ("torchlint, cold", "flake8 alone", "TorchFix")]
    with tempfile.TemporaryDirectory(dir=work) as folder:
        whole, some = Path(folder) / "whole", Path(folder) / "part"
        lines = {whole: lay_out(folders, whole), some: lay_out(folders, some, part)}
        rates: dict[str, list[float]] = {row.title: [] for row in first}
        for _ in range(rounds):
            for row in first:
                files = some if row.slow else whole
                rates[row.title].append(lines[files] / run(row.command(homes[row.home], files)).cpu)
    own = statistics.median(rates["torchlint, cold"])
    middle = {title: statistics.median(found) for title, found in rates.items()}
    return [[f"{name} ({lines[whole]:,} lines): {title}", f"{rate:,.0f}", f"{own / rate:.2f}"] for title, rate in middle.items()]


def of_training(repositories: Sequence[Repository], homes: dict[str, Path | None], rounds: int) -> str:
    """The table of training repositories."""
    options = "--output-format concise --no-cache -j 1".split()
    commands = {
        "torchlint": lambda: [str(homes[""] / "python"), "-m", "torchlint", *options],
        "TorchFix": lambda: [str(homes["TorchFix"] / "torchfix"), "-j", "1"],
    }

    def rate(name: str, files: Sequence[Path], lines: int) -> float:
        return lines / run([*commands[name](), *map(str, files)]).cpu

    found = of_each(repositories, lambda folder, place: lay_out([folder], place), rate, rounds)
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in found)


def single(bin_: Path, path: Path) -> list[list[str]]:
    """Start to exit on one file: unchanged (with a cache) and changed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "one.py"
        text = path.read_text()
        file.write_text(text)
        command = [str(bin_ / "python"), "-m", "torchlint", "--cache-dir", f"{folder}/cache", "-q", str(file)]
        run(command)
        same = [run(command).wall for _ in range(9)]
        changed = []
        for turn in range(9):
            file.write_text(f"{text}\nTURN = {turn}\n")
            changed.append(run(command).wall)
    count = text.count("\n")
    return [
        [f"one file of {count} lines, unchanged", f"{statistics.median(same):.3f} s", ""],
        [f"one file of {count} lines, changed", f"{statistics.median(changed):.3f} s", ""],
    ]


def write(table: list[list[str]], lines: int, names: str, more: str = "") -> None:
    """Puts the table between its marks in RESULTS.md."""
    head = f"""## How fast torchlint reads

`python benchmarks/lint_speed.py`, {date.today()}: {lines:,} lines of {names}; lines per CPU-second, and how many times
as many torchlint reads, cold, on one process. {platform.processor() or platform.machine()}, {os.cpu_count()} cores,
Python {platform.python_version()}.

| | lines per CPU-second | torchlint, cold, against it |
| --- | --- | --- |
"""
    put("lint_speed", head + "".join(f"| {' | '.join(row)} |\n" for row in table) + more, RESULTS)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "torchlint_benchmarks")
    parser.add_argument("--part", type=int, default=20_000, help="lines that the slow tools are given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--also", action="append", nargs="+", default=[], metavar=("NAME", "FOLDER"), help="another set of files")
    parser.add_argument("--training", nargs="+", type=Repository.of, default=[], metavar="FOLDER[@COMMIT]")
    parser.add_argument("--single", type=Path, help="a file of about 500 lines")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    folders = [folder.resolve() for folder in options.folders]
    homes = {row.home: home(row.home, options.work) for row in ROWS}
    found, lines = rows(folders, homes, options.work, options.part, options.rounds)
    if options.single:
        found += single(homes[""], options.single)
    for name, *others in options.also:
        found += also(name, [Path(folder).resolve() for folder in others], homes, options.work, options.part, options.rounds)
    more = of_training(options.training, homes, options.rounds) if options.training else ""
    write(found, lines, ", ".join(folder.name for folder in folders), more)


if __name__ == "__main__":
    main()
