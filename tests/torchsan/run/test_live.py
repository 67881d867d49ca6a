"""The live display: what is on it, that nothing else is touched, and that the terminal is given back."""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

pyte = pytest.importorskip("pyte")
import fcntl  # noqa: E402

from torchlint.findings import Finding, Location, Severity  # noqa: E402
from torchsan.report.series import Series  # noqa: E402
from torchsan.run.live_panel import HEIGHT, braille, lines_of  # noqa: E402

SRC = Path(__file__).parents[3] / "src"
PROGRAM = """
import os, sys, time
import torch
from torch import nn

model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(60):
    loss = nn.functional.cross_entropy(model(torch.randn(4, 8)).softmax(1), torch.randint(0, 3, (4,)))
    loss.backward()
    optimizer.step()
    time.sleep(0.05)
    print("printed", step, flush=True)
    os.write(2, f"\\rbar {step}".encode())
{end}
"""


class Terminal:
    """A terminal of 100 x 40 that a command runs in, and what is on it; every row that ever scrolled is kept."""

    def __init__(self, command, cwd, **environment):
        self.screen = pyte.HistoryScreen(100, 40, history=5000, ratio=1)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self._process = subprocess.Popen(
            command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
            env={**os.environ, "PYTHONPATH": str(SRC), "TERM": "xterm-256color", **environment},
        )
        os.close(theirs)
        self._fd = ours

    def until(self, text=None, seconds=90):
        """Read until a text is on the screen, or the command has ended; what was on it then."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self._fd], [], [], 0.2)[0]:
                try:
                    data = os.read(self._fd, 1 << 16)
                except OSError:
                    data = b""
                if not data:
                    break
                self.raw += data
                self._stream.feed(data)
            if text is not None and any(text in row for row in self.screen.display):
                return list(self.screen.display)
        assert text is None, "\n".join(self.screen.display)
        self._process.wait(timeout=30)
        return list(self.screen.display)

    @property
    def status(self):
        return self._process.returncode


def run(tmp_path, *options, end="", **environment):
    (tmp_path / "train.py").write_text(PROGRAM.replace("{end}", end), encoding="utf-8")
    return Terminal([sys.executable, "-m", "torchsan", "run", *options, "train.py"], tmp_path, **environment)


def test_a_run_is_shown_while_it_trains_and_the_terminal_given_back(tmp_path):
    terminal = run(tmp_path, "--live")
    shown = terminal.until("a step")
    panel = shown[-HEIGHT:]
    assert panel[0].startswith("╭─ torchsan  step ") and panel[-1].startswith("╰") and "memory" in panel[-1]
    terminal.until("TS101 train.py")
    ended = terminal.until()
    assert terminal.status == 0 and "torchsan: 2 findings in 60 optimizer steps" in "\n".join(ended)
    assert not [row for row in ended if "╭─ torchsan" in row]
    assert terminal.screen.margins is None  # all rows scroll again
    # What the program printed is there as it printed it, on all rows that scrolled by and those that are left.
    history = ["".join(row[at].data for at in range(100)) for row in terminal.screen.history.top] + ended
    printed = [row.split("printed ")[1].split()[0] for row in history if "printed " in row]
    assert printed[-20:] == [str(step) for step in range(40, 60)]


def test_an_error_ends_it_before_the_traceback(tmp_path):
    terminal = run(tmp_path, "--live", end="raise RuntimeError('the end')")
    terminal.until("a step")
    ended = "\n".join(terminal.until())
    assert terminal.status == 1 and "RuntimeError: the end" in ended and "╭─ torchsan" not in ended
    assert terminal.screen.margins is None


@pytest.mark.parametrize(("environment", "said"), [({"TERM": "dumb"}, "TERM is dumb"), ({"RANK": "1", "WORLD_SIZE": "1"}, "")])
def test_where_there_can_be_none_the_run_goes_on(tmp_path, environment, said):
    terminal = run(tmp_path, "--live", end="sys.exit(0)", **environment)
    ended = terminal.until()
    assert terminal.status == 0 and not re.search(rb"\x1b\[\d+;\d+r", terminal.raw)
    assert said.encode() in terminal.raw and (bool(said) == (b"no live display" in terminal.raw)), ended


def test_off_where_output_is_no_terminal(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM.replace("{end}", "").replace("range(60)", "range(3)"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "torchsan", "run", "--live", "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=90,
        env={**os.environ, "PYTHONPATH": str(SRC)},
    )
    assert done.returncode == 0 and "torchsan: no live display: standard error is no terminal" in done.stderr and "\x1b" not in done.stderr


def test_the_lines_fit(tmp_path):
    series = Series()
    for step in range(500):
        for name in ("loss/loss", "loss/penalty", "gradient norm/optimizer"):
            series.record(name, step, float("nan") if step == 400 else 1 / (step + 1))
    found = [
        Finding("TS101", "missing-zero-grad", "m", Location(str(tmp_path / ("x" * 200 + ".py")), 3), "correctness", Severity.ERROR, count=number)
        for number in range(1, 20)
    ]
    for width in (24, 60, 100, 220):
        lines = lines_of(width, 12_345, 0.0123, series.lines, found, str(tmp_path), colour=False)
        assert len(lines) == HEIGHT and {len(line) for line in lines} == {width}
    assert "19 findings" in lines[1] and "12.3 ms a step" in lines[0]
    assert lines_of(80, 0, None, {}, [], str(tmp_path), colour=False)[1].count("nothing found") == 1


def test_a_curve_in_dots():
    rising = braille([float(value) for value in range(16)], 8, 2)
    assert [len(row) for row in rising] == [8, 8] and rising[0].startswith("⠀⠀") and rising[1].endswith("⠀⠀")
    assert braille([1.0, 1.0], 8, 2) != ["", ""] and braille([float("nan")], 8, 2) == ["", ""]
    assert len(braille([float(v % 7) for v in range(10_000)], 30, 3)[0]) == 30
