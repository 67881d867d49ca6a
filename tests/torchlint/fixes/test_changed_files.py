"""Files that change while torchlint runs: an editor saves, another run mends. They are left as they are, and that is said."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.torchlint.support import ROOT, fake_engine, write  # noqa: F401
from torchlint.catalogue.pages import catalogue
from torchlint.cli import main
from torchlint.findings import Edit, Location
from torchlint.fixes.edits import EditError, apply
from torchlint.run import runner
from torchlint.run.judge import Judge, Order
from torchlint.run.runner import Runner
from torchlint.settings.config import Config

MISTAKE = "import torch\n\n\ndef predict(model, x):\n    model.eval\n    return model(x)\n"
MENDED = MISTAKE.replace("model.eval", "model.eval()")
# What an editor makes of it meanwhile: the row that the finding stood on says something else.
SAVED = MISTAKE.replace("    model.eval\n", '    words = "model.eval goes"\n    model.eval\n')


def book(*texts):
    return json.dumps({"cells": [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in texts]}, indent=1)


CHANGES = {
    "saved": ("a.py", MISTAKE, SAVED),
    "mended by another run": ("a.py", MISTAKE, MENDED),
    "other line ends": ("a.py", MISTAKE, MISTAKE.replace("\n", "\r\n")),
    "the cell": ("a.ipynb", book(MISTAKE), book(SAVED)),
    "mended in the cell": ("a.ipynb", book(MISTAKE), book(MENDED)),
    "another cell": ("a.ipynb", book("import os", MISTAKE), book("import os\nprint(os)\n", MISTAKE)),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty project that is the working folder."""
    monkeypatch.chdir(write(tmp_path, {"setup.cfg": ""}))
    return tmp_path


@pytest.fixture
def meanwhile(project, monkeypatch):
    """Has files written, given as {path: text}, when the next run has judged all of its own."""

    def meanwhile(files):
        def run(self, *args, **options):
            outcome = real(self, *args, **options)
            if files:
                write(project, files)
                files.clear()
            return outcome

        monkeypatch.setattr(Runner, "run_files", run)

    real = Runner.run_files
    return meanwhile


def lint(*args):
    return main([*args, "--isolated", "-f", "concise", "-j", "1", "."])


@pytest.mark.parametrize("cache", [True, False], ids=["cached", "judged"])
@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_is_left_as_it_is(project, meanwhile, capfd, option, change, cache):
    """The others are mended; the run says what it did not do, counts it not, and its exit status is 2."""
    name, before, after = CHANGES[change]
    write(project, {name: before, "other.py": MISTAKE})
    if cache:
        assert lint() == 1
        capfd.readouterr()
    meanwhile({name: after})
    assert lint(option, *([] if cache else ["--no-cache"])) == 2
    err = capfd.readouterr().err
    assert (project / name).read_bytes() == after.encode()
    assert err.count(f"{name}: cannot be ") == 1 and "it was changed while torchlint ran" in err, err
    assert (project / "other.py").read_text() == (MENDED if option == "--fix" else MISTAKE.replace("eval", "eval  # noqa: TL132"))
    assert ("mended 1 finding in 1 file" if option == "--fix" else "1 finding hidden") in err
    assert lint(option) == 0, "the next run does what is left"


@pytest.mark.parametrize("change", CHANGES)
def test_a_diff_is_of_what_was_judged(project, meanwhile, capfd, change):
    name, before, after = CHANGES[change]
    write(project, {name: before})
    meanwhile({name: after})
    assert lint("--diff") == 2
    out, err = capfd.readouterr()
    assert out == "" and f"{name}: cannot be mended: it was changed while torchlint ran" in err


@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
def test_a_file_that_another_one_is_judged_by(project, meanwhile, capfd, option):
    """What is wrong in a helper for its caller alone is told, and mended, by the text of the helper that was read then."""
    helper = "def prepare(model):\n    model.eval\n"
    write(project, {
        "helper.py": helper,
        "main.py": "import torch\nfrom helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n",
    })
    meanwhile({"helper.py": "import os\n" + helper})
    assert lint(option) == 2
    assert (project / "helper.py").read_text() == "import os\n" + helper
    assert "helper.py: cannot be " in capfd.readouterr().err
    assert lint(option) == 0


def test_a_file_that_goes_is_said(project, monkeypatch, capfd):
    write(project, {"a.py": MISTAKE})
    real = Runner.run_files

    def run(self, *args, **options):
        outcome = real(self, *args, **options)
        (project / "a.py").unlink(missing_ok=True)
        return outcome

    monkeypatch.setattr(Runner, "run_files", run)
    for option in ("--fix", "--diff", "--add-noqa"):
        write(project, {"a.py": MISTAKE})
        assert lint(option) == 2
        assert "a.py: cannot be " in capfd.readouterr().err


@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
def test_the_last_look_is_right_before_the_file_is_replaced(project, monkeypatch, capfd, option):
    """What is saved while the new file is being written is not lost, and nothing is left behind."""
    write(project, {"a.py": MISTAKE})
    real = tempfile.mkstemp

    def mkstemp(*args, **options):
        write(project, {"a.py": SAVED})
        return real(*args, **options)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    assert lint(option, "--no-cache") == 2
    assert (project / "a.py").read_text() == SAVED and sorted(os.listdir(project)) == ["a.py", "setup.cfg"]
    assert "it was changed while torchlint ran" in capfd.readouterr().err


def test_a_baseline_is_of_what_was_judged(project, monkeypatch, capfd):
    """A finding is known by the text of its line: where another text stands there, it is not written, and not hidden."""
    def judge_all(*args):
        yield from real(*args)
        write(project, {"a.py": saved})

    real = runner.judge_all
    monkeypatch.setattr(runner, "judge_all", judge_all)
    options, saved = ("--baseline", "b.json", "--no-cache"), SAVED
    write(project, {"a.py": MISTAKE})
    assert lint(*options, "--update-baseline") == 2
    assert "b.json: not written: a.py: it was changed while torchlint ran" in capfd.readouterr().err
    assert not (project / "b.json").exists()
    assert lint(*options, "--update-baseline") == 0 and lint(*options) == 0
    saved = MISTAKE.replace("    model.eval", "    model.train\n    model.eval")
    assert lint(*options) == 1, "what cannot be compared is told"


@pytest.mark.parametrize("before", [None, '{"version": 1, "findings": {}}'], ids=["new", "old"])
def test_a_baseline_that_another_run_writes(project, meanwhile, capfd, before):
    write(project, {"a.py": MISTAKE, **({"b.json": before} if before else {})})
    other = '{"version": 1, "findings": {"x.py": {"TL101 0": 1}}}'
    meanwhile({"b.json": other})
    assert lint("--baseline", "b.json", "--update-baseline", "--no-cache") == 2
    assert "b.json: cannot be written: it was changed while torchlint ran" in capfd.readouterr().err
    assert sorted(os.listdir(project)) == ["a.py", "b.json", "setup.cfg"] and (project / "b.json").read_text() == other


# A run that judges, and then mends when there are as many files in ../ready as it is told.
WAITING = """
import os, sys, time
from torchlint.cli import main
from torchlint.run.runner import Runner

def run(runner, *args, **options):
    outcome = real(runner, *args, **options)
    open(f"../ready/{os.getpid()}", "w").close()
    end = time.monotonic() + 100
    while len(os.listdir("../ready")) < int(sys.argv[1]) and time.monotonic() < end:
        time.sleep(0.01)
    return outcome

real = Runner.run_files
Runner.run_files = run
status = main(["--fix", "--isolated", "-j", "1", "-f", "concise", sys.argv[2], "."])
open(f"../ready/{os.getpid()} is done", "w").close()
sys.exit(status)
"""


@pytest.mark.parametrize("wait", [(4, 4, 4, 4), (4, 5, 5, 5)], ids=["together", "one goes first"])
@pytest.mark.parametrize("option", ["--no-cache", "--cache-dir=../cache"])
def test_four_runs_at_once(tmp_path, option, wait):
    """All of them judge the same, and then mend: every file is what one run makes of it."""
    twice = MISTAKE + "\n\ndef again(model):\n    with torch.no_grad:\n        model.train\n"
    files = {f"{number}.py": twice + f"# {number}\n" for number in range(8)} | {"n.ipynb": book("import os", twice)}
    project, alone = write(tmp_path / "project", files), write(tmp_path / "alone", files)
    (tmp_path / "ready").mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}

    def start(folder, *command):
        return subprocess.Popen([sys.executable, *command], cwd=folder, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    runs = [start(project, "-c", WAITING, str(number), option) for number in wait]
    said = [(run.communicate(timeout=240)[0], run.returncode) for run in runs]
    assert start(alone, "-m", "torchlint", "--fix", "--isolated", "--no-cache", "-j", "1", ".").wait(120) == 0
    for name in files:
        assert (project / name).read_bytes() == (alone / name).read_bytes() != files[name].encode(), said
    assert sorted(os.listdir(project)) == sorted(files)
    for text, status in said:
        assert status in (0, 2) and "Traceback" not in text and ("was changed while torchlint ran" in text) == (status == 2), text
    if wait[0] != wait[1]:
        assert [status for _, status in said] == [0, 2, 2, 2] and "mended" in said[0][0]
        assert all("torchlint: mended" not in text for text, _ in said[1:])


def test_every_finding_and_edit_names_its_text(project):
    """Those of a cache, too, and those that stand in another file."""
    write(project, {"helper.py": "def prepare(model):\n    model.eval\n", "n.ipynb": book(MISTAKE), "a.py": MISTAKE + (
        "from helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n")})
    for _ in range(2):
        found = findings(project)
        assert sorted(Path(one.location.filename).name for one in found) == ["a.py", "helper.py", "n.ipynb"]
        for one in found:
            digest = hashlib.sha256(Path(one.location.filename).read_bytes()).hexdigest()
            assert one.digest == digest and [edit.digest for edit in one.fix.edits] == [digest]


def test_a_file_that_changes_between_its_own_turn_and_that_of_its_importer(project):
    """The importer is judged by what is on disk when it is read first, and says so; also where a text is tried that is on no disk."""
    helper = b"import torch\n\n\ndef prepare(model):\n    model.eval\n"
    for name in ("first.py", "second.py"):
        write(project, {name: "import torch\nfrom helper import prepare\n\nprepare(torch.nn.Linear(2, 2))\n"})
    write(project, {"helper.py": helper})
    path, judge = str(project / "helper.py"), Judge(Order(tuple(rule for rule in catalogue() if rule.code == 132)))
    judge.file(path)
    on_disk = b"import os\n" + helper
    write(project, {"helper.py": on_disk})
    for name, tried in (("first.py", helper), ("second.py", b"import os\n\n" + helper)):
        judge.content(path, tried)
        verdict = judge.file(str(project / name))
        (one,) = verdict.findings
        assert (one.location.filename, one.location.row) == (path, 6)
        digest = hashlib.sha256(on_disk).hexdigest()
        assert [one.digest, one.fix.edits[0].digest, verdict.depends[path]] == [digest] * 3


def findings(project):
    known = catalogue()
    return Runner(Config(project), [rule for rule in known if rule.code == 132], known).run(["."], jobs=1).findings


def test_an_edit_is_put_where_its_text_stands():
    at = Location("f.py", 2, 1, 2, 3)
    assert apply("f.py", b"a\r\nbcd", [Edit(at, "X", "bc")]) == b"a\r\nXd"
    assert apply("f.py", b"a\r\nbc\r\nd", [Edit(Location("f.py", 1, 2, 3, 1), "X", "\nbc\n")]) == b"aXd"
    with pytest.raises(EditError, match="made for"):
        apply("f.py", b"a\nbd", [Edit(at, "X", "bc")])
    with pytest.raises(EditError, match="made for"):
        apply("n.ipynb", book("a\nbd").encode(), [Edit(Location("n.ipynb", 2, 1, 2, 3, 1), "X", "bc")])


def test_what_was_tried_and_taken_back_is_not_shown(project, capfd):
    """The report quotes the file, not what a fix would have made of it, and knows which comments are of use."""
    write(project, {"train.py": """import torch


def train(model, loader, loss_fn):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train  # noqa: TL132
    for x, y in loader:
        loss_fn(model(x), y).backward()
        optimizer.step
"""})
    assert main(["--fix", "--unused-noqa", "--isolated", "--no-cache", "-j", "1", "."]) == 1
    out, err = capfd.readouterr()
    quoted = [line.split("│")[1].strip() for line in out.splitlines() if line.strip().startswith("9 │")]
    assert quoted == ["optimizer.step"] and "hides nothing" not in err
