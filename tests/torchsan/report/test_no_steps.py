"""That nothing was found where nothing was to be seen is said in other words."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest
import torch
from torch import nn

import torchsan


def step(model):
    model(torch.randn(4, 3)).sum().backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
            parameter.grad = None


def test_updates_by_hand():
    model = nn.Linear(3, 1)
    with torchsan.watch(model) as san:
        for _ in range(3):
            step(model)
    assert "in 0 optimizer steps: no optimizer was seen in 3 backward calls" in san.report()


def test_an_optimizer_that_never_steps():
    model = nn.Linear(3, 1)
    with torchsan.watch(model) as san:
        torch.optim.SGD(model.parameters(), lr=0.1)
        step(model)
    assert "an optimizer was seen, and no step of it (1 backward call)" in san.report()


def test_nothing_at_all():
    with torchsan.watch() as san:
        pass
    assert san.report().endswith("no optimizer was seen, and no backward call")


def test_a_watch_that_never_began(capsys):
    torchsan.watch(nn.Linear(3, 1))
    gc.collect()
    told = capsys.readouterr().err
    assert "nothing was watched: the watch was never started" in told and __file__ in told


def test_a_report_of_a_watch_that_never_began(capsys):
    san = torchsan.watch(nn.Linear(3, 1))
    assert san.report().startswith("torchsan: nothing was watched")
    del san
    gc.collect()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("use", [lambda san: san.start().stop(), lambda san: san(print)], ids=["started", "decorates"])
def test_a_watch_that_is_used_says_nothing(capsys, use):
    use(torchsan.watch(nn.Linear(3, 1)))
    gc.collect()
    assert capsys.readouterr().err == ""


def test_steps_are_counted_as_before():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model) as san:
        model(torch.randn(4, 3)).sum().backward()
        optimizer.step()
    assert san.report() == "torchsan: nothing found in 1 optimizer step"


def test_weights_that_are_updated_by_hand_are_said_where_the_watch_ends(capsys):
    model = nn.Linear(3, 1)
    with torchsan.watch(model):
        for _ in range(3):
            step(model)
    assert "nothing found in 0 optimizer steps: no optimizer was seen in 3 backward calls" in capsys.readouterr().err
    with torchsan.watch(model, on_finding="collect"):
        step(model)
    with torchsan.watch(model):
        with torch.no_grad():
            model(torch.randn(4, 3))
    assert capsys.readouterr().err == ""


def test_a_watch_that_never_began_and_lives_to_the_end(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import torchsan\nfrom torch import nn\nmodel = nn.Linear(3, 1)\nsan = torchsan.watch(model)\n")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert done.stderr.count("nothing was watched") == 1 and "program.py:4" in done.stderr, done.stderr
