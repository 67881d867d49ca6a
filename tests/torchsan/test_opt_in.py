"""Checks that have to be asked for: silent by default, found where they are selected."""

from __future__ import annotations

import pytest

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
x = torch.randn(16, 4)
"""
LOOP = """
for _ in range(3):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad({})
"""
AMP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.{}):
        loss = model(x).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
ADAM = "optimizer = torch.optim.{}(model.parameters(), lr=0.01{})\n"
PROGRAMS = {
    "adam decays": (ADAM.format("Adam", ", weight_decay=0.1") + LOOP.format(""), {(124, 7), (125, 7)}),
    "adam decays by itself": (
        ADAM.format("Adam", ", weight_decay=0.1, decoupled_weight_decay=True") + LOOP.format(""), {(125, 7)},
    ),
    "adam without": (ADAM.format("Adam", "") + LOOP.format(""), set()),
    "matrices decay": (
        "optimizer = torch.optim.AdamW([p for p in model.parameters() if p.dim() > 1], lr=0.01)\n" + LOOP.format(""),
        set(),
    ),
    "zeros": (ADAM.format("SGD", "") + LOOP.format("set_to_none=False"), {(133, 13)}),
    "bfloat16 scaled": (AMP.format("bfloat16"), {(706, 14)}),
    "float16 scaled": (AMP.format("float16"), set()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_asked_for_is_found(run, name):
    text, expected = PROGRAMS[name]
    ran = run(HEAD + text, select="TS124,TS125,TS133,TS706")
    assert ran.error is None
    assert ran.lines == expected, ran.san.report()


@pytest.mark.parametrize("name", ["adam decays", "zeros", "bfloat16 scaled"])
def test_nothing_of_it_is_said_by_default(run, name):
    assert not run(HEAD + PROGRAMS[name][0]).findings
