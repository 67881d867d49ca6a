"""`torchsan run`: the program runs as python runs it, findings are told as they come, counted at the end, and written.

Commands run in processes of their own: what python does at its exit is part of what is promised.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from torchsan.run.awaiting_torch import when_imported
from torchsan.run.cli import main

ROOT = Path(__file__).parents[3]
ENV = {
    **{key: value for key, value in os.environ.items() if key not in ("TORCHSAN_OPTIONS", "FORCE_COLOR")},
    "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "CUDA_VISIBLE_DEVICES": "",
}
BROKEN = """
import sys
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    loss.backward()
    optimizer.step()
print("done")
"""
# Everything that a program can see of how it was started.
SELF = """
import sys, os, threading, multiprocessing
value = 3
print(sys.argv, sys.path[0], __file__, __name__, __spec__ and __spec__.name, type(__loader__).__name__, __package__,
      sorted(globals()), type(__builtins__).__name__, sys.modules["__main__"].value, __cached__)
"""


def python(*args, cwd, **env):
    return subprocess.run(
        [sys.executable, *args], cwd=cwd, env={**ENV, **env}, capture_output=True, encoding="utf-8", timeout=300
    )


def run(*args, cwd, **env):
    return python("-m", "torchsan", "run", *args, cwd=cwd, **env)


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


class TestAsPython:
    @pytest.mark.parametrize("name", ["a.py", "./a.py", "sub/a.py", "ABSOLUTE"])
    def test_what_a_script_sees(self, write, tmp_path, name):
        path = write("sub/a.py" if "sub" in name else "a.py", SELF)
        name = str(path) if name == "ABSOLUTE" else name
        bare = python(name, "--epochs", "3", "-m", cwd=tmp_path)
        watched = run("-q", name, "--epochs", "3", "-m", cwd=tmp_path)
        assert bare.stdout and bare.stdout == watched.stdout
        assert (watched.returncode, watched.stderr) == (0, "")

    @pytest.mark.parametrize("name", ["pack.one", "pack"])
    def test_what_a_module_sees(self, write, tmp_path, name):
        write("pack/__init__.py", "")
        write("pack/one.py", SELF)
        write("pack/__main__.py", SELF)
        bare = python("-m", name, "--x", cwd=tmp_path)
        watched = run("-q", "-m", name, "--x", cwd=tmp_path)
        assert bare.stdout and bare.stdout == watched.stdout
        assert watched.stderr == ""

    def test_links_are_followed(self, write, tmp_path):
        write("far/a.py", "import near\nprint(near.x)")
        write("far/near.py", "x = 1")
        (tmp_path / "link.py").symlink_to(tmp_path / "far" / "a.py")
        assert run("-q", "link.py", cwd=tmp_path).stdout == python("link.py", cwd=tmp_path).stdout == "1\n"

    @pytest.mark.parametrize("text", [
        "import sys; sys.exit(3)",
        "import sys; sys.exit('why')",
        "def f(): raise ValueError('x')\nf()",
        "x = (",
        "try: 1/0\nexcept Exception as e: raise KeyError(1) from e",
        "import sys\nsys.excepthook = lambda kind, value, tb: print('mine', kind, tb.tb_lineno)\nraise OSError(3)",
        "import atexit; atexit.register(print, 'bye'); raise SystemExit",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print(2))).start()\nprint(1)",
        "import os; os._exit(7)",
        "import torch\ndef f(x): x.sum().backward(); x.sum().backward()\nf(torch.ones(2))",
    ], ids=range(10))
    def test_how_it_ends(self, write, tmp_path, text):
        write("a.py", text)
        bare, watched = python("a.py", cwd=tmp_path), run("-q", "--ignore", "ALL", "a.py", cwd=tmp_path)
        assert (bare.returncode, bare.stdout) == (watched.returncode, watched.stdout)
        assert bare.stderr == watched.stderr

    def test_a_process_that_it_forks_keeps_quiet(self, write, tmp_path):
        write("a.py", BROKEN + "import os\nif os.fork() == 0: sys.exit(0)\nos.wait()")
        assert run("a.py", cwd=tmp_path).stderr.count("finding in") == 1

    def test_workers_of_a_loader(self, write, tmp_path):
        write("a.py", "import torch\nfrom torch.utils.data import DataLoader\nif __name__ == '__main__':\n"
              "    print(sum(DataLoader(range(4), num_workers=1, multiprocessing_context='spawn')))\n")
        done = run("a.py", cwd=tmp_path)
        assert done.stdout == "tensor([6])\n"
        assert done.stderr.count("torchsan") == 1

    def test_interrupt_leaves_a_summary(self, write, tmp_path):
        # Jobs that a shell starts in the background ignore interrupts, and so do their children, these tests among them.
        heed = "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        write("a.py", BROKEN + heed + "os.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(60)")
        done = run("a.py", cwd=tmp_path)
        assert done.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in done.stderr
        assert "torchsan: 1 finding in 4 optimizer steps" in done.stderr

    def test_variables_set_before_torch_is_imported(self, write, tmp_path):
        write("a.py", "import sys, os\nassert 'torch' not in sys.modules\nprint('first')\nimport torch\n"
              "print(torch.__spec__.loader.exec_module.__self__ is torch.__loader__, 'torch' in sys.modules)")
        done = run("a.py", cwd=tmp_path)
        assert done.stdout == "first\nTrue True\n", done.stderr
        assert "nothing found in 0 optimizer steps" in done.stderr

    def test_a_program_without_torch(self, write, tmp_path):
        write("a.py", "print(1)")
        assert "did not import torch" in run("a.py", cwd=tmp_path).stderr


class TestWhatIsTold:
    def test_each_finding_once_and_counted(self, write, tmp_path):
        write("a.py", BROKEN)
        done = run("a.py", cwd=tmp_path)
        assert done.returncode == 0
        assert done.stderr.count("error TS101") == 1
        assert "a.py:10:5" in done.stderr and "^^^^^^^^^^^^^^^" in done.stderr
        assert re.search(r"torchsan: 1 finding in 4 optimizer steps\n  a.py:10:5 +TS101 missing-zero-grad +3 times",
                         done.stderr), done.stderr

    def test_threads_that_outlive_the_script(self, write, tmp_path):
        write("a.py", "import threading, torch, sys\nready = threading.Event()\ndef job():\n    ready.wait()\n"
              + textwrap.indent(BROKEN, "    ") + "threading.Thread(target=job).start()\n"
              "ready.set()\n")
        assert "error TS101" in run("a.py", cwd=tmp_path).stderr

    def test_quiet(self, write, tmp_path):
        write("a.py", BROKEN)
        done = run("--quiet", "a.py", cwd=tmp_path)
        assert "error TS101" in done.stderr and "torchsan:" not in done.stderr

    def test_findings_stand_between_the_lines_of_the_program(self, write, tmp_path):
        write("a.py", BROKEN)
        done = subprocess.run([sys.executable, "-m", "torchsan", "run", "a.py"], cwd=tmp_path, env=ENV, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.stdout.index("TS101") < done.stdout.index("done") < done.stdout.index("torchsan: 1 finding")

    @pytest.mark.parametrize(("options", "status"), [(["--fail"], 1), (["--exit-code", "--ignore", "101"], 0), ([], 0)])
    def test_exit_status(self, write, tmp_path, options, status):
        write("a.py", BROKEN)
        assert run(*options, "a.py", cwd=tmp_path).returncode == status

    @pytest.mark.parametrize(("ending", "status"), [("sys.exit(0)", 1), ("sys.exit(5)", 5), ("raise ValueError", 1)])
    def test_the_programs_own_failure_counts_first(self, write, tmp_path, ending, status):
        write("a.py", BROKEN + ending)
        assert run("--fail", "a.py", cwd=tmp_path).returncode == status

    def test_level_and_options_from_outside(self, write, tmp_path):
        write("a.py", BROKEN)
        assert "TS101" not in run("a.py", cwd=tmp_path, TORCHSAN_OPTIONS="ignore=TS101").stderr
        assert "TS101" in run("--level", "thorough", "a.py", cwd=tmp_path).stderr

    @pytest.mark.parametrize("name", ["out.json", "out.sarif", "out.xml"])
    def test_report(self, write, tmp_path, name):
        write("a.py", BROKEN + "import os; os.chdir('/')")
        done = run("--report", name, "a.py", cwd=tmp_path)
        assert f"torchsan: report: {name}" in done.stderr
        text = (tmp_path / name).read_text(encoding="utf-8")
        if name == "out.json":
            [finding] = json.loads(text)
            assert (finding["code"], finding["filename"], finding["count"]) == ("TS101", "a.py", 3)
        elif name == "out.sarif":
            [result] = json.loads(text)["runs"][0]["results"]
            assert (result["ruleId"], result["occurrenceCount"]) == ("TS101", 3)
        else:
            assert "TS101" in text

    def test_report_that_cannot_be_written_ends_nothing(self, write, tmp_path):
        write("a.py", BROKEN + "import os; os.mkdir('out.json')")
        done = run("--report", "out.json", "a.py", cwd=tmp_path)
        assert done.returncode == 0
        assert "out.json cannot be written: is a directory" in done.stderr

    def test_error_of_torchs_is_explained_in_the_traceback(self, write, tmp_path):
        write("a.py", "import torch\nx = torch.randn(8, 4)\nmodel = torch.nn.Linear(5, 2)\nmodel(x)\n")
        done = run("a.py", cwd=tmp_path)
        assert done.returncode == 1
        assert "torchsan: TS508 shape-chain" in done.stderr
        assert "made at a.py:2: x = torch.randn(8, 4)" in done.stderr
        assert "src/torchsan" not in done.stderr
        assert done.stderr.index("TS508 shape-chain: ") < done.stderr.index("torchsan: 1 finding")


class TestBadInput:
    @pytest.mark.parametrize(("args", "said"), [
        (["nope.py"], "can't open 'nope.py': no such file or directory"),
        (["-m", "no.such.module"], "no module 'no.such.module' to run"),
        (["-m", "nosuchmodule"], "no module 'nosuchmodule' to run"),
        (["-m", "math"], "no module 'math' to run"),
        ([], "Missing argument 'SCRIPT'"),
        (["--selct", "TS1", "a.py"], "--selct"),
        (["--select", "corectness", "a.py"], "did you mean 'correctness'?"),
        (["--level", "deep", "a.py"], "'deep'"),
        (["--report", "out.txt", "a.py"], "must end in .html, .json, .sarif, .xml"),
        (["--report", "no/folder/out.json", "a.py"], "cannot be written there"),
    ])
    def test_one_line_and_status_2(self, args, said, capsys, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.setattr(sys, "argv", [*sys.argv])
        assert main(["run", *args]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert said in err and err.startswith("torchsan: error: ")

    def test_wrong_options_from_outside(self, capsys, monkeypatch):
        monkeypatch.setenv("TORCHSAN_OPTIONS", "levl=thorough")
        assert main(["run", "a.py"]) == 2
        assert "did you mean 'level'?" in capsys.readouterr().err

    def test_a_script_in_the_place_of_the_command(self, capsys):
        assert main(["train.py"]) == 2
        assert "did you mean `torchsan run train.py`?" in capsys.readouterr().err
        assert main(["nonsense"]) == 2

    def test_help_and_version(self, capsys):
        assert main(["--help"]) == 0
        assert "Commands:" in capsys.readouterr().out
        assert main(["--version"]) == 0
        assert capsys.readouterr().out.startswith("torchsan 0.")


def test_awaiting_something_that_cannot_be_imported(monkeypatch, tmp_path, capsys):
    import importlib

    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    when_imported("nowhere_at_first", lambda: seen.append(1))
    with pytest.raises(ImportError):
        importlib.import_module("nowhere_at_first")
    (tmp_path / "nowhere_at_first.py").write_text("x = 1", encoding="utf-8")
    importlib.invalidate_caches()
    importlib.import_module("nowhere_at_first")
    assert seen == [1]
    when_imported("sys", lambda: 1 / 0)
    assert "cannot watch: ZeroDivisionError" in capsys.readouterr().err


class TestSteps:
    """`--steps N` ends the program after N steps of an optimizer, as sys.exit() there would."""

    LONG = """
import atexit, sys, torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
atexit.register(print, "at exit")
try:
    for step in range(1000):
        print("step", step)
        loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        if "good" in sys.argv:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
except Exception:
    print("taken for an error")
finally:
    print("put away")
print("saved")
"""

    def test_it_ends_well(self, write, tmp_path):
        write("train.py", self.LONG)
        done = run("--steps", "3", "--report", "r.json", "train.py", "good", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split("\n")[:-1] == ["step 0", "step 1", "step 2", "put away", "at exit"]
        assert "nothing found in 3 optimizer steps\ntorchsan: the program was ended there, as --steps 3 asked" in done.stderr
        assert "Traceback" not in done.stderr and (tmp_path / "r.json").exists()
        broken = run("--steps", "3", "--fail", "train.py", cwd=tmp_path)
        assert broken.returncode == 1 and "TS101" in broken.stderr

    def test_a_program_that_is_shorter_ends_by_itself(self, write, tmp_path):
        write("train.py", BROKEN)
        done = run("--steps", "9", "train.py", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "done\n") and "--steps" not in done.stderr
        assert run("--steps", "0", "train.py", cwd=tmp_path).returncode == 2

    def test_processes_that_it_starts_end_well_too(self, write, tmp_path):
        program = "import torch.multiprocessing as mp\n\ndef main(rank):\n" + textwrap.indent(self.LONG, "    ")
        write("train.py", program + "\nif __name__ == '__main__':\n    mp.spawn(main, nprocs=1)\n    print('joined')\n")
        done = run("--steps", "2", "train.py", cwd=tmp_path)
        assert done.returncode == 0 and done.stdout.endswith("put away\nat exit\njoined\n") and "step 2" not in done.stdout, done
