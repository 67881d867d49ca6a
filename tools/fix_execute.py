"""Runs programs before and after they are mended, and compares what they print and their losses: see `fix_loop.py --execute`.

A program is a file of the folder that has `if __name__ == "__main__"`, or that fix_programs.toml names, which says with what
options and small data those of some public repositories are run. Each is run by itself, from its own folder, with a seed, and with
a limit of time: twice as it is, then mended. One that does not end well, or does not do the same twice, is told and left alone.
"""

from __future__ import annotations

import difflib
import functools
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fix_data import KINDS
from fix_plant import plant

SECONDS = 120
PROGRAMS = Path(__file__).with_name("fix_programs.toml")
# What differs from run to run: addresses, process numbers, times, and speeds; and what a printed tensor tells of its graph.
_NOISE = re.compile(
    r"0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|it/s|s/it)\b|\d\d:\d\d(?::\d\d)?|, grad_fn=<\w+>|, requires_grad=True"
    r"|(?:Data|Time|time) +\d+\.\d+ \( *\d+\.\d+\)"
)


class Program(NamedTuple):
    """How a program is run: `before` is Python that is run first, `data` names kinds of fix_data.py and their places, `steps` is
    the number of losses after which it is ended (0: never), `skip` says why it is not run at all."""

    run: str
    options: str = ""
    data: dict[str, str] = {}
    before: str = ""
    steps: int = 0
    skip: str = ""


class Ran(NamedTuple):
    """What came of a run: exit status (None where it took too long), what it printed, its losses, its last words."""

    status: int | None
    printed: str
    losses: list[float]
    words: str = ""

    def same(self, other: Ran) -> bool:
        return self[:3] == other[:3]


def programs(folder: Path) -> Iterator[Program]:
    """What is to be run in a folder: what fix_programs.toml names there, and all else that is a program."""
    planned = [Program(**item) for item in tomllib.loads(PROGRAMS.read_text(encoding="utf-8"))["program"]]
    here = [item for item in planned if (folder / item.run).is_file()]
    yield from here
    known = {item.run for item in here}
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        text = path.read_text(encoding="utf-8", errors="replace")
        if name not in known and not path.is_symlink() and re.search(r"^if __name__ == ", text, re.MULTILINE):
            yield Program(name)


def run(folder: Path, program: Program) -> Ran:
    """Runs one program of a folder in a copy of it, so that no run sees what another one left behind."""
    with tempfile.TemporaryDirectory(prefix="fix-execute-") as place:
        copy, told = Path(place, "copy"), Path(place, "losses")
        shutil.copytree(folder, copy, symlinks=True)
        script = copy / program.run
        env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
               "MPLBACKEND": "agg", "PYTHONPATH": os.pathsep.join([str(copy), os.environ.get("PYTHONPATH", "")])}
        if _torchvision_without_operators():
            env["TORCHVISION_OPERATORS"] = "stand-in"
        for kind, where in program.data.items():
            KINDS[kind](copy / where)
            env |= {"CITATIONS": str(copy / where)} if kind == "citations" else {}
        quiet = {"cwd": script.parent, "env": env, "stdin": subprocess.DEVNULL, "text": True, "errors": "replace"}
        command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("fix_runner.py")), str(script), str(told), str(program.steps)]
        try:
            if program.before:
                subprocess.run([sys.executable, "-c", program.before], timeout=SECONDS, capture_output=True, **quiet)
            done = subprocess.run([*command, *shlex.split(program.options)], capture_output=True, timeout=SECONDS, **quiet)
        except subprocess.TimeoutExpired:
            return Ran(None, "", [], f"takes more than {SECONDS} seconds")
        losses = json.loads(told.read_text() or "[]") if told.exists() else []
        words = next((line.strip() for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        return Ran(done.returncode, _NOISE.sub("~", done.stdout).replace(str(copy), "."), losses, words.replace(str(copy), "."))


@functools.cache
def _torchvision_without_operators() -> bool:
    """Whether there is a torchvision whose operators this torch has no libraries for."""
    if importlib.util.find_spec("torchvision") is None:
        return False
    tried = subprocess.run([sys.executable, "-c", "import torchvision"], capture_output=True, text=True)
    return "operator torchvision::" in tried.stderr


class Compared(NamedTuple):
    """A program, the verdict on it, a word more, and in how many places its folder was mended.

    The verdict is "not run" (it does not end well as it is), "not repeatable" (two runs of it differ), "untouched" (no file that
    lies in its folder changes), "same" or "differs".
    """

    program: str
    verdict: str
    words: str = ""
    mended: int = 0


def compare(folder: Path, options: Sequence[str], unsafe: bool, planted: bool = False) -> Iterator[Compared]:
    """What comes of running each program of a folder before and after mending it, with planted mistakes if so asked."""
    with tempfile.TemporaryDirectory(prefix="fix-execute-") as place:
        before, after = Path(place, "before"), Path(place, "after")
        shutil.copytree(folder, before, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        if planted:
            plant(before)
        shutil.copytree(before, after, symlinks=True)
        command = [sys.executable, "-m", "torchlint", "--isolated", "--exit-zero", "--no-cache", "-q", "-f", "json", "--fix", *options]
        subprocess.run([*command, *(["--unsafe-fixes"] if unsafe else []), "."], cwd=after, stdout=subprocess.DEVNULL)
        changed = {name: count for name in _sources(before) if (count := _places(before / name, after / name))}
        for program in programs(before):
            near = sum(count for name, count in changed.items() if name.is_relative_to(Path(program.run).parent))
            yield Compared(program.run, *_compared(before, after, program, near > 0), near)


def _compared(before: Path, after: Path, program: Program, changed: bool) -> tuple[str, str]:
    if program.skip:
        return "not run", program.skip
    if not changed:
        return "untouched", ""
    was = run(before, program)
    if was.status != 0:
        return "not run", was.words or f"exit status {was.status} as it is"
    if not (again := run(before, program)).same(was):
        return "not repeatable", _difference(was, again)
    now = run(after, program)
    return "same" if was.same(now) else "differs", _difference(was, now) or f"{len(was.losses)} losses, {len(was.printed.splitlines())} lines"


def _sources(folder: Path) -> Iterator[Path]:
    return (path.relative_to(folder) for path in folder.rglob("*") if path.suffix in (".py", ".ipynb"))


def _places(old: Path, new: Path) -> int:
    """In how many places a file was changed."""
    was, now = (path.read_bytes().splitlines() for path in (old, new))
    return 0 if was == now else sum(tag != "equal" for tag, *_ in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes())


def _difference(was: Ran, now: Ran) -> str:
    if was.status != now.status:
        return f"exit status {now.status}, was {was.status}: {now.words}"
    if was.losses != now.losses:
        step = next((i for i, (a, b) in enumerate(zip(was.losses, now.losses)) if a != b), min(len(was.losses), len(now.losses)))
        return f"{len(was.losses)} and {len(now.losses)} losses; the first that differs is number {step}"
    lines = zip(was.printed.splitlines(), now.printed.splitlines())
    return next((f"prints {new!r}, was {old!r}" for old, new in lines if old != new), "" if was.same(now) else "prints more, or less")
