"""Runs programs before and after they are mended, and compares what they print and their losses: see `fix_loop.py --execute`.

A program is a file of the folder that has `if __name__ == "__main__"`. It is run by itself, from its own folder, with a seed,
without arguments, and with a limit of time. One that does not end well before it is mended is told and left alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SECONDS = 120
# What differs from run to run: addresses, times, and speeds.
_NOISE = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|it/s|s/it)\b|\d\d:\d\d(?::\d\d)?")
_RUNNER = """
import json, os, random, runpy, sys
script, told = sys.argv[1:3]
sys.argv = [script]
sys.path.insert(0, os.getcwd())
import torch
random.seed(0)
torch.manual_seed(0)
torch.use_deterministic_algorithms(True, warn_only=True)
try:
    import numpy
    numpy.random.seed(0)
except ImportError:
    pass
losses, backward = [], torch.Tensor.backward
def noted(self, *args, **kwargs):
    losses.append(float(self.detach().double().sum()))
    return backward(self, *args, **kwargs)
torch.Tensor.backward = noted
try:
    runpy.run_path(script, run_name="__main__")
finally:
    with open(told, "w") as file:
        json.dump(losses, file)
"""


class Ran(NamedTuple):
    """What came of a run: exit status (None where it took too long), what it printed, its losses."""

    status: int | None
    printed: str
    losses: list[float]


def programs(folder: Path) -> Iterator[Path]:
    """The files of a folder that are meant to be run, by their names in it."""
    for path in sorted(folder.rglob("*.py")):
        if not path.is_symlink() and re.search(r"^if __name__ == ", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE):
            yield path.relative_to(folder)


def run(folder: Path, program: Path) -> Ran:
    """Runs one program of a folder in a copy of it, so that no run sees what another one left behind."""
    with tempfile.TemporaryDirectory(prefix="fix-execute-") as place:
        copy, told = Path(place, "copy"), Path(place, "losses")
        shutil.copytree(folder, copy, symlinks=True)
        script = copy / program
        env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
               "PYTHONPATH": os.pathsep.join([str(copy), os.environ.get("PYTHONPATH", "")])}
        try:
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", _RUNNER, script, told], cwd=script.parent, env=env, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return Ran(None, "", [])
        losses = json.loads(told.read_text() or "[]") if told.exists() else []
        return Ran(done.returncode, _NOISE.sub("~", done.stdout).replace(str(copy), "."), losses)


def compare(folder: Path, options: Sequence[str], unsafe: bool) -> Iterator[tuple[str, str, str]]:
    """For each program of a folder: its name, the verdict, and how its runs differ.

    The verdict is "not run" (it does not end well as it is), "untouched" (no file of the folder changes), "same" or "differs".
    """
    with tempfile.TemporaryDirectory(prefix="fix-execute-") as place:
        before, after = Path(place, "before"), Path(place, "after")
        for copy in (before, after):
            shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        command = [sys.executable, "-m", "torchlint", "--isolated", "--exit-zero", "--no-cache", "-q", "-f", "json", "--fix", *options]
        subprocess.run([*command, *(["--unsafe-fixes"] if unsafe else []), "."], cwd=after, stdout=subprocess.DEVNULL)
        changed = any((before / name).read_bytes() != (after / name).read_bytes() for name in _sources(before))
        for program in programs(before):
            if not changed:
                yield str(program), "untouched", ""
                continue
            was = run(before, program)
            if was.status != 0:
                yield str(program), "not run", f"exit status {was.status} as it is"
                continue
            now = run(after, program)
            yield str(program), "same" if was == now else "differs", _difference(was, now)


def _sources(folder: Path) -> Iterator[Path]:
    return (path.relative_to(folder) for path in folder.rglob("*") if path.suffix in (".py", ".ipynb"))


def _difference(was: Ran, now: Ran) -> str:
    if was.status != now.status:
        return f"exit status {now.status}, was {was.status}"
    if was.losses != now.losses:
        step = next((i for i, (a, b) in enumerate(zip(was.losses, now.losses)) if a != b), min(len(was.losses), len(now.losses)))
        return f"{len(was.losses)} and {len(now.losses)} losses; the first that differs is number {step}"
    lines = zip(was.printed.splitlines(), now.printed.splitlines())
    return next((f"prints {new!r}, was {old!r}" for old, new in lines if old != new), "" if was == now else "prints more, or less")
