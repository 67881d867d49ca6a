"""Errors that tell of a pitfall only together with their line: those that do, and those that sound alike."""

from __future__ import annotations

import os

import pytest
import torch

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 2)
x = torch.randn(8, 4)
"""
# What CUDA's autocast does, on any machine: it raises inside of torch.
REFUSES = f"""
space = {{}}
text = ("def refuse(*given):\\n    raise RuntimeError('torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss "
        "are unsafe to autocast.')")
exec(compile(text, {os.path.join(os.path.dirname(torch.__file__), "refuse.py")!r}, "exec"), space)
criterion = space["refuse"]
"""
CASES = {
    "binary cross entropy under autocast": (REFUSES + "criterion(model(x), x)", {(709, 13)}, "criterion(model(x), x)"),
    "a tuple for a loss": ("loss = model(x), None\nloss.backward()", {(128, 8)}, "a tuple"),
    "a loss that was not returned": (
        "def loss_of(y):\n    y.sum()\nloss = loss_of(model(x))\nloss.backward()", {(128, 10)}, "returns None",
    ),
    "an attribute that is no leaf": (
        "class Line:\n    pass\nline = Line()\nline.w = torch.zeros(4, requires_grad=True)\n"
        "for _ in range(2):\n    (x @ line.w).sum().backward()\n    line.w = line.w - 0.1 * line.w.grad",
        {(123, 13)}, "line.w",
    ),
    "a gradient before backward": ("w = torch.zeros(4, requires_grad=True)\nw.grad.zero_()", set(), None),
    "None of one's own": ("grad = None\ngrad.zero_()", set(), None),
    "an object of one's own": ("class Loss:\n    pass\nLoss().backward()", set(), None),
    "nothing to train": (
        "model.requires_grad_(False)\nparameters = (p for p in model.parameters() if p.requires_grad)\n"
        "torch.optim.SGD(parameters, lr=0.1)", set(), None,
    ),
    "words of one's own": ("raise RuntimeError('function names')", set(), None),
}


@pytest.mark.parametrize("name", CASES)
def test_errors(run, name):
    program, expected, words = CASES[name]
    ran = run(HEAD + program + "\n")
    assert ran.error is not None
    assert ran.lines == expected, ran.san.report()
    if words is not None:
        [finding] = ran.findings
        assert words in finding.message + finding.help
        [note] = ran.error.__notes__
        assert f"TS{finding.number:03d} {finding.name}" in note


def test_an_error_is_said_of_the_update_that_is_missing_alone(run):
    """A second unscale after a step is what a forgotten update looks like."""
    ran = run(HEAD + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for _ in range(2):
    scaler.scale(model(x).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
""")
    assert {number for number, _ in ran.lines} == {704}
