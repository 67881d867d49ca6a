"""704, 705: scalers that do not live as long as the program."""

from __future__ import annotations

import pytest

HEAD = """import torch
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
    ran = run(HEAD.format(given=given) + end)  # that no check was switched off is looked at there
    assert ran.lines == ran.marked, ran.san.report()
