"""Checks of the opt-in group, which programs under the default selection cannot show."""

from __future__ import annotations

import pytest

LOAD = """
import torch
from torch import nn

whole = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
state = {name: value for name, value in whole.state_dict().items() if name != "1.bias"}
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("whole.load_state_dict(state, strict=False)", True),
        ("whole.load_state_dict(state | {'2.bias': torch.zeros(2)}, strict=False)", True),
        ("result = whole.load_state_dict(state, strict=False)", False),
        ("print(whole.load_state_dict(state, strict=False))", False),
        ("whole.load_state_dict(whole.state_dict(), strict=False)", False),
        ("whole.load_state_dict(whole.state_dict())", False),
    ],
)
def test_a_loose_load_whose_result_is_thrown_away(run, line, found):
    ran = run(LOAD + line + "\n", select="TS907")
    assert [(f.number, f.location.row) for f in ran.findings] == ([(907, LOAD.count("\n") + 1)] if found else [])
    if found:
        assert "1.bias" in ran.findings[0].details["missing"]
        assert "1 (1.bias) of its 4 keys are not in the state" in ran.findings[0].message


def test_a_sigmoid_in_front_of_a_binary_loss(run):
    text = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
target = torch.ones(8, 1)
nn.BCELoss()(model(torch.randn(8, 4)), target).backward()
nn.BCEWithLogitsLoss()(model[0](torch.randn(8, 4)), target).backward()
nn.BCELoss()(torch.clamp(model[0](torch.randn(8, 4)), 0.1, 0.9), target).backward()
"""
    assert run(text, select="TS304").lines == {(304, 7)}
    assert not run(text).lines
