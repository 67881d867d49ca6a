"""102 under Accelerate: where in an accumulation gradients may be cleared, asked of accelerate itself."""

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
accelerator = Accelerator(gradient_accumulation_steps=STEPS, cpu=True)
model = nn.Linear(2, 1, bias=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
loader = DataLoader(torch.ones(8, 2), batch_size=1)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
used = []
for batch in loader:
    pass  # BEFORE
    with accelerator.accumulate(model):
        pass  # FIRST
        accelerator.backward(model(batch).sum())
        if accelerator.sync_gradients:
            used.append(model.weight.grad[0, 0].item())
        optimizer.step()
        pass  # LAST
print(used)
"""
OWN, MODEL = "optimizer.zero_grad()", "model.zero_grad()"


def program(place, line, steps=4):
    return PROGRAM.replace("STEPS", str(steps)).replace(f"pass  # {place}", line)


@pytest.mark.parametrize(("place", "line", "steps", "used"), [
    ("LAST", OWN, 4, [1, 1]),
    ("BEFORE", OWN, 4, [1, 1]),  # the state is that of the batch before: it clears after a step
    ("FIRST", OWN, 1, [1] * 8),
    ("LAST", f"if accelerator.sync_gradients: {MODEL}", 4, [1, 1]),
    ("FIRST", f"{OWN}  # <- 102", 4, [0.25, 0.25]),
    ("LAST", f"{MODEL}  # <- 102", 4, [0.25, 0.25]),
    ("FIRST", f"{MODEL}  # <- 102", 4, [0.25, 0.25]),
])
def test_where_gradients_are_cleared(run, capsys, place, line, steps, used):
    ran = run(program(place, line, steps))
    assert ran.error is None and capsys.readouterr().out.strip() == str([float(one) for one in used])
    assert {mark for mark in ran.lines if mark[0] == 102} == ran.marked, ran.san.report()
