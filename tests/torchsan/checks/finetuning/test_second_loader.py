"""011: another loader of Accelerate's that was begun and left; and what an accumulation steps by, asked of accelerate itself."""

from __future__ import annotations

import pytest

pytest.importorskip("accelerate", reason="accelerate is not installed")

PROGRAM = """
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch import nn
from torch.utils.data import DataLoader

AcceleratorState._reset_state(True)
GradientState._reset_state()
accelerator = Accelerator(gradient_accumulation_steps=4, cpu=True)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader, other = DataLoader(torch.randn(10, 2), batch_size=1), DataLoader(torch.randn(3, 2), batch_size=1)
model, optimizer, loader, other = accelerator.prepare(model, optimizer, loader, other)
stepped = []
for i, batch in enumerate(loader):
    with accelerator.accumulate(model):
        accelerator.backward(model(batch).square().mean())
        if accelerator.sync_gradients:
            stepped.append(i)
        optimizer.step()
        optimizer.zero_grad()
    if i == 1:
        model.eval()
        with torch.no_grad():
            OTHER
        model.train()
print(stepped)
"""
WHOLE = "for one in other: model(one)"
LEFT = "model(next(iter(other)))  # <- 011"
BROKEN_OFF = "for one in other:  # <- 011\n                break"


def of(ran, number):
    return [finding for finding in ran.findings if finding.number == number]


@pytest.mark.parametrize(("other", "steps"), [(WHOLE, [3, 7, 9]), (LEFT, [3, 7]), (BROKEN_OFF, [3, 7]), ("pass", [3, 7, 9])])
def test_what_becomes_of_the_end(run, capsys, other, steps):
    ran = run(PROGRAM.replace("OTHER", other))
    assert ran.error is None and capsys.readouterr().out.strip() == str(steps)
    assert {mark for mark in ran.lines if mark[0] == 11} == ran.marked and len(of(ran, 11)) == len(ran.marked), ran.san.report()
    # An evaluation that ends before the first step is no end of the training's loop.
    assert not of(ran, 103), ran.san.report()
