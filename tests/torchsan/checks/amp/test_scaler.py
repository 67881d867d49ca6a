"""703, 704, 705: a GradScaler or an optimizer that nobody holds any more, and what comes to have its id."""

from __future__ import annotations

import pytest

HEAD = """
import gc

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def loss():
    return nn.functional.cross_entropy(model(x), y)
"""
# A scaler of one step: what it scaled is still scaled when it is gone.
GONE = """
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
for _ in range(3):
    optimizer.zero_grad()
    torch.amp.GradScaler("cpu").scale(loss()).backward()
    gc.collect()
    optimizer.step()  # <- 705
"""
# Each optimizer is built where the last one was, and the scaler moves on only in the end.
ANEW = """
scaler = torch.amp.GradScaler("cpu")
for _ in range(12):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler.scale(loss()).backward()
    scaler.step(optimizer)
    optimizer.zero_grad()
    del optimizer
    gc.collect()
scaler.update()
"""


def test_a_scaler_that_is_gone(run):
    ran = run(HEAD + GONE)
    assert ran.lines == ran.marked, ran.san.report()
    assert "times too large" not in ran.findings[0].message


def test_a_scaler_that_is_gone_before_the_clipping(run):
    ran = run(HEAD + GONE.replace("    gc.collect()", "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)"))
    assert 703 in {finding.number for finding in ran.findings}, ran.san.report()


def test_an_optimizer_with_the_id_of_another(run):
    ran = run(HEAD + ANEW)
    assert 704 not in {finding.number for finding in ran.findings}, ran.san.report()


MADE_ANEW = """import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def scaled():
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    optimizer.zero_grad()
    scaler.scale(model(torch.randn(8, 4)).square().mean()).backward()
    return {given}


for _ in range(4):
"""
ENDS = {
    "a step around one that is gone": ("None", "    scaled()\n    optimizer.step()  # <- 705\n"),
    "a new one each time": ("scaler", "    scaler = scaled()\n    scaler.step(optimizer)\n    scaler.update()\n"),
    "a new one each time, never moved on": ("scaler", "    scaled().step(optimizer)\n"),
}


@pytest.mark.parametrize(("given", "end"), ENDS.values(), ids=ENDS)
def test_scalers_that_go(run, given, end):
    ran = run(MADE_ANEW.format(given=given) + end)  # that no check was switched off is looked at there
    assert ran.lines == ran.marked, ran.san.report()
