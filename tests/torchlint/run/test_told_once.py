"""A finding that several files lead to is told once, and it is the same one however the files were come to."""

import json

import pytest

from tests.torchlint.support import write
from torchlint.cli import main
from torchlint.run import runner

HELPER = "import torch.nn.functional as F\n\n\ndef loss_of(out, y):\n    return F.cross_entropy(out, y)\n"
CALLER = """import torch
from torch import nn
from helper import loss_of

net = nn.Linear(4, 2)


def train(loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        out = torch.softmax(net(x), 1)
        loss_of(out, y).backward()
        optimizer.step()
"""


def told(capfd, *arguments):
    """What a run says in JSON."""
    assert main([*map(str, arguments), "--output-format", "json"]) == 1
    return json.loads(capfd.readouterr().out)


@pytest.fixture
def callers(tmp_path, monkeypatch):
    """A project of two callers of one helper, large enough for two processes, and the names of its files."""
    filler = "# This line is only here to fill the file.\n" * 2000
    write(tmp_path, {"setup.cfg": "", "helper.py": HELPER, "a.py": CALLER + filler, "b.py": filler + CALLER})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torchlint.run.workers.SMALL_RUN_BYTES", 0)
    return ["a.py", "b.py", "helper.py"]


def test_same_related_lines_whatever_came_first(callers, capfd):
    first = told(capfd, "--no-cache", "-j", "1", *callers)
    assert [(one["code"], one["filename"], [other["filename"] for other in one["related"]]) for one in first] == [
        ("TL301", "helper.py", ["a.py"])
    ]
    for jobs in (1, 2):
        for names in (callers, callers[::-1]):
            assert told(capfd, "--no-cache", "-j", jobs, *names) == first


def test_same_related_lines_whichever_verdict_comes_first(callers, capfd, monkeypatch):
    first = told(capfd, "--no-cache", *callers)
    in_order = runner.judge_all
    monkeypatch.setattr(runner, "judge_all", lambda *given: reversed(list(in_order(*given))))
    assert told(capfd, "--no-cache", *callers) == first


def test_same_related_lines_with_some_files_known(callers, capfd):
    first = told(capfd, "--no-cache", *callers)
    assert main(["-j", "1", "b.py"]) == 0 and "1 finding" in capfd.readouterr().err
    assert told(capfd, "-j", "1", *callers) == first  # b.py is known, a.py is not
    assert told(capfd, "-j", "2", *callers[::-1]) == first


def test_a_file_of_two_names_has_its_own(tmp_path, monkeypatch, capfd):
    write(tmp_path, {"setup.cfg": "", "z/train.py": CALLER, "z/helper.py": HELPER})
    (tmp_path / "a.py").symlink_to(tmp_path / "z/train.py")
    monkeypatch.chdir(tmp_path)
    first = told(capfd, "--no-cache", "a.py", "z")
    assert [one["filename"] for one in first] == ["z/helper.py"]
    assert told(capfd, "--no-cache", "z", "a.py") == told(capfd, "--no-cache", ".") == first
