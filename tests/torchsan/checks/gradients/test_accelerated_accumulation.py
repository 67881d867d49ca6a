"""104 under Accelerate and transformers' Trainer: what they divide the losses of an accumulation by, asked of themselves."""

from __future__ import annotations

import pytest

pytest.importorskip("accelerate", reason="accelerate is not installed")

PROGRAM = """
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState
from torch import nn
from torch.utils.data import DataLoader

AcceleratorState._reset_state(True)
GradientState._reset_state()
torch.manual_seed(0)
accelerator = Accelerator(GIVEN)
model = nn.Linear(4, 3)
optimizer = torch.optim.OPTIMIZER(model.parameters(), lr=0.01)
loader = DataLoader(torch.randn(32, 4), batch_size=2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for i, batch in enumerate(loader):
    with WITH:
        loss = F.cross_entropy(model(batch), torch.zeros(2, dtype=torch.long))
        accelerator.backward(LOSS)  # MARK
        CLIP
        if STEP:
            optimizer.step()
            optimizer.zero_grad()
"""
BY_IT = {"GIVEN": "gradient_accumulation_steps=4, cpu=True", "WITH": "accelerator.accumulate(model)", "STEP": "True"}
BY_HAND = {"GIVEN": "cpu=True", "WITH": "accelerator.autocast()", "STEP": "(i + 1) % 4 == 0"}
CLIP = "accelerator.clip_grad_norm_(model.parameters(), 1.0)"


@pytest.mark.parametrize(("how", "loss", "more", "told"), [
    (BY_IT, "loss", {}, False),
    (BY_IT, "loss / 4", {}, True),
    (BY_IT, "loss / accelerator.gradient_accumulation_steps", {}, True),
    (BY_IT, "loss / 2", {}, False),
    (BY_IT, "loss / 4", {"OPTIMIZER": "AdamW"}, False),  # which divides the size of the gradients out
    (BY_IT, "loss / 4", {"OPTIMIZER": "AdamW", "CLIP": CLIP}, True),
    (BY_HAND, "loss / 4", {}, False),
    (BY_HAND, "loss", {}, True),
    (BY_HAND | {"GIVEN": "gradient_accumulation_steps=4, cpu=True"}, "loss", {}, False),
    (BY_HAND | {"GIVEN": "gradient_accumulation_steps=4, cpu=True"}, "loss / 4", {}, True),
])
def test_what_is_divided(run, how, loss, more, told):
    code = PROGRAM
    for word, put in ({"OPTIMIZER": "SGD", "CLIP": "pass", "LOSS": loss} | how | more).items():
        code = code.replace(word, put)
    ran = run(code.replace("MARK", "<- 104" if told else "sound"))
    assert ran.error is None, ran.error
    assert {mark for mark in ran.lines if mark[0] == 104} == ran.marked, ran.san.report()
