"""Files with names that a terminal, or the log of a CI server, would obey: whatever the command prints of them."""

import re

import pytest

from tests.torchlint.support import run_python
from torchlint.report import FORMATS

NAMES = ("::error::x.py", "a\x1b[2J.py", "b\n::warning::y.py", "\u202ec.py", "##vso[task.complete]d.py", "é ö.py")
BAD = "import torch\n\n\ndef step(optimizer, loss, s='##vso[a]\x9b'):\n    optimizer.zero_grad\n    loss.backward()\n    optimizer.step()\n"


@pytest.fixture
def project(tmp_path):
    for name in NAMES:
        (tmp_path / name).write_text(BAD, encoding="utf-8")
    (tmp_path / ("::b.py")).write_text("x = (\n")
    return tmp_path


@pytest.mark.parametrize("args", [
    *(("-f", format) for format in FORMATS), ("--diff", "--color", "always"), ("--show-files",), ("-v", "--statistics"),
    ("--fix", "--show-fixes"), ("--add-noqa",), ("--unused-noqa", "--ignore-noqa"), ("--baseline", "known.json", "--update-baseline"),
])
def test_nothing_is_obeyed(project, args):
    done = run_python("-m", "torchlint", "--no-cache", "--isolated", *args, cwd=project, env={"TERM": "xterm"})
    shown = (done.stdout + done.stderr).decode("utf-8")
    assert done.returncode == (0 if args == ("--show-files",) else 2) and "Traceback" not in shown
    shown = re.sub("\x1b\\[[0-9;]*m", "", shown)  # our own colours
    assert not [char for char in shown if not char.isprintable() and char not in "\n\t"]
    commands = [line for line in shown.splitlines() if line.lstrip().startswith("::")]
    assert all(re.match(r"::(error|notice) title=torchlint \(", line) for line in commands) and bool(commands) == ("github" in args)
    assert bool(re.search(r"##(vso)?\[", shown)) == ("azure" in args)
